/** Retention over REST: who may say how much history is kept, and what is refused. */
import { expect, it } from "vitest";
import { trusted } from "#shared/ids.ts";
import { createTestApp, keyText, problemOf, SERVICE_SCOPES } from "#test/support/test-app.ts";

const OPERATOR = keyText("o");
const ORDINARY = keyText("r");
const FOREIGN = keyText("f");

function setUp() {
  const app = createTestApp();
  app.addKey(OPERATOR, { scopes: SERVICE_SCOPES });
  app.addKey(ORDINARY, { scopes: SERVICE_SCOPES.filter((scope) => scope !== "operate") });
  app.addKey(FOREIGN, { scopes: SERVICE_SCOPES, tenant: trusted("other") });
  const list = async (as: string) => (await app.call("GET", "/v1/retention", { as })).json();
  return { ...app, list };
}

it("[H44] is set for all agents or one, listed and removed, by the caller's own tenant", async () => {
  const { call, list } = setUp();
  const put = async (query: string, json: object) =>
    (await call("PUT", `/v1/retention${query}`, { as: OPERATOR, json })).json();
  const all = { agent: null, maxAgeDays: 90, maxEvents: null };
  const one = { agent: "analyst", maxAgeDays: null, maxEvents: null };
  expect(await put("", { maxAgeDays: 30, maxEvents: 5 })).toMatchObject({ maxEvents: 5 });
  expect(await put("", { maxAgeDays: 90, maxEvents: null })).toMatchObject(all);
  expect(await put("?agent=analyst", { maxAgeDays: null, maxEvents: null })).toMatchObject(one);
  expect(await list(OPERATOR)).toMatchObject({ items: [all, one] });
  expect(await list(FOREIGN)).toEqual({ items: [] });
  const remove = async () =>
    (await call("DELETE", "/v1/retention?agent=analyst", { as: OPERATOR })).json();
  expect([await remove(), await remove()]).toEqual([{ removed: true }, { removed: false }]);
  expect(await list(OPERATOR)).toMatchObject({ items: [all] });
});

it("[H44] is for those who operate and never a user's; what does not fit is refused and changes nothing", async () => {
  const { call, mint, list } = setUp();
  const json = { maxAgeDays: 1, maxEvents: 1 };
  for (const as of [ORDINARY, await mint("u1")]) {
    const refused = await call("PUT", "/v1/retention", { as, json });
    expect([refused.status, (await problemOf(refused))["code"]]).toEqual([403, "forbidden"]);
  }
  for (const body of [
    {},
    { maxAgeDays: 0, maxEvents: 1 },
    { ...json, maxEvents: 1.5 },
    { ...json, x: 1 },
  ]) {
    const refused = await call("PUT", "/v1/retention", { as: OPERATOR, json: body });
    expect([refused.status, (await problemOf(refused))["code"]]).toEqual([400, "invalid_request"]);
  }
  const unknown = await call("PUT", "/v1/retention?agent=No%20Agent", { as: OPERATOR, json });
  expect(unknown.status).toBe(400);
  expect(await list(OPERATOR)).toEqual({ items: [] });
});
