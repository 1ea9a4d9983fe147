/** Who reaches what over HTTP: credentials, scopes, owners and tenants (handed cases C07 and H01). */
import { describe, expect, it } from "vitest";
import { AppError } from "#shared/errors.ts";
import type { CallInit } from "#test/support/test-app.ts";
import { THREAD, createTestApp, keyText, problemOf } from "#test/support/test-app.ts";

type Action = readonly [method: string, path: string, init?: CallInit];

/** Every way to touch one thread. */
function actionsOn(thread: string): readonly Action[] {
  return [
    ["GET", thread],
    ["HEAD", thread],
    ["POST", `${thread}/messages`, { json: { text: "canary" } }],
    [
      "POST",
      `${thread}/messages`,
      { json: { text: "canary" }, headers: { accept: "text/event-stream" } },
    ],
    ["GET", `${thread}/messages`],
    ["GET", `${thread}/runs`],
    ["GET", `${thread}/runs/run_1`],
    ["POST", `${thread}/runs/run_1/cancel`],
    ["GET", `${thread}/events`],
    ["GET", `${thread}/events`, { headers: { accept: "text/event-stream" } }],
    ["GET", `${thread}/state`],
    ["PUT", `${thread}/state`, { json: { a: 1 } }],
    ["GET", `${thread}/files`],
    ["GET", `${thread}/files/data.csv`],
    ["PUT", `${thread}/files/data.csv`, { body: "x" }],
    ["DELETE", `${thread}/files/data.csv`],
    ["GET", `${thread}/export`],
    ["GET", `${thread}/verify`],
    ["GET", `${thread}/runs/run_1/explain`],
    ["POST", `${thread}/events/1/erase`],
  ];
}
const creates = ([method, path]: Action) => method === "POST" && path.endsWith("/messages");
const writes = ([method, path]: Action) =>
  creates([method, path]) || (method === "PUT" && path.includes("/files/"));

async function withVictim() {
  const test = createTestApp();
  const all = ["threads:read", "threads:write", "files:read", "files:write", "audit", "erase"];
  const u1 = await test.mint("u1", { scopes: all });
  const u2 = await test.mint("u2", { scopes: all });
  await test.call("PUT", `${THREAD}/files/data.csv`, { as: u1, body: "canary-ONE" });
  await test.call("POST", `${THREAD}/messages`, { as: u1, json: { text: "canary-ONE" } });
  return { ...test, u1, u2 };
}

describe("credentials", () => {
  it("[P5] a credential is told who it is and what it may do, and nothing of its secret", async () => {
    const { call, mint } = createTestApp();
    const user = await mint("u1", { scopes: ["threads:read"] });
    expect(await (await call("GET", "/v1/me", { as: user })).json()).toEqual({
      tenant: "acme",
      kind: "user",
      id: "u1",
      scopes: ["threads:read"],
    });
  });

  it.each([
    ["none", null, "credentials_missing"],
    ["Basic", "Basic YTpi", "scheme_unsupported"],
    ["an unknown key", `Bearer ${keyText("q")}`, "key_unknown"],
    ["half a key", "Bearer hf_abc", "key_malformed"],
    ["a made-up token", "Bearer a.b.c", "token_invalid"],
    ["two credentials", `Bearer ${keyText("a")} ${keyText("a")}`, "scheme_unsupported"],
    ["no space", `Bearer${keyText("a")}`, "scheme_unsupported"],
  ])(
    "[Z1] %s: one and the same 401, and the reason only in the log",
    async (_name, authorization, reason) => {
      const { app, logged } = createTestApp();
      const response = await app.request("/v1/agents", {
        headers: authorization === null ? {} : { authorization },
      });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe('Bearer realm="holdfast"');
      expect(await problemOf(response)).toEqual({
        type: "urn:holdfast:problem:unauthenticated",
        title: "Valid credentials are required.",
        status: 401,
        code: "unauthenticated",
        detail: "Valid credentials are required.",
        retryable: false,
        context: {},
      });
      expect(logged.at(-1)).toMatchObject({
        status: 401,
        code: "unauthenticated",
        reason,
        principal: null,
      });
    },
  );

  it("[Z1] revoked and expired keys get that same 401", async () => {
    const { call, addKey, clock, logged } = createTestApp();
    addKey(keyText("r"), { revokedAt: 1 });
    addKey(keyText("e"), { expiresAt: clock.now() });
    expect((await call("GET", "/v1/agents", { as: keyText("r") })).status).toBe(401);
    expect((await call("GET", "/v1/agents", { as: keyText("e") })).status).toBe(401);
    expect(logged.map(({ reason }) => reason)).toEqual(["key_revoked", "key_expired"]);
  });

  it("[Z1] unknown paths and methods under /v1 do not answer without credentials", async () => {
    const { call } = createTestApp();
    for (const [method, path] of [
      ["GET", "/v1/nothing"],
      ["PATCH", "/v1/agents"],
      ["OPTIONS", "/v1/agents"],
    ] as const) {
      expect((await call(method, path, { as: null })).status).toBe(401);
    }
  });

  it("[Z1] a key store that is down closes the door as 503, not as a 401 and not open", async () => {
    const { call, keys } = createTestApp();
    const down = new AppError("unavailable", "D1_ERROR: no such table", { retryable: true });
    keys.findByHash = async () => Promise.reject(down);
    const response = await call("GET", "/v1/agents");
    expect(response.status).toBe(503);
    expect(JSON.stringify(await problemOf(response))).not.toContain("D1_ERROR");
  });
});

describe("scopes", () => {
  it("[Z2] every action on a thread needs its scope, and without it reaches no object", async () => {
    const { call, addKey, gateway } = createTestApp();
    addKey(keyText("n"), { scopes: [] });
    for (const [method, path, init] of [
      ...actionsOn(THREAD),
      ["GET", "/v1/threads"],
      ["POST", "/v1/tokens", { json: { user: "u" } }],
    ] as const) {
      const response = await call(method, path, { ...init, as: keyText("n") });
      expect([method, path, response.status]).toEqual([method, path, 403]);
    }
    expect(gateway.calls).toEqual([]);
  });

  it("[Z2] a read key cannot write, and a user token of default scopes can neither export nor erase nor mint", async () => {
    const { call, addKey, mint } = createTestApp();
    addKey(keyText("o"), { scopes: ["threads:read", "files:read"] });
    expect(
      (await call("POST", `${THREAD}/messages`, { as: keyText("o"), json: { text: "x" } })).status,
    ).toBe(403);
    const user = await mint("u1");
    await call("POST", `${THREAD}/messages`, { as: user, json: { text: "x" } });
    expect((await call("GET", `${THREAD}/export`, { as: user })).status).toBe(403);
    expect((await call("POST", `${THREAD}/events/1/erase`, { as: user })).status).toBe(403);
    expect((await call("POST", "/v1/tokens", { as: user, json: { user: "u2" } })).status).toBe(403);
  });

  it("[Z2] admin is every scope", async () => {
    const { call, addKey } = createTestApp();
    addKey(keyText("m"), { kind: "operator", scopes: ["admin"] });
    await call("POST", `${THREAD}/messages`, { as: keyText("m"), json: { text: "x" } });
    expect((await call("GET", `${THREAD}/export`, { as: keyText("m") })).status).toBe(200);
  });
});

describe("owners", () => {
  it("[Z5] every action on another user's thread answers as on one that is not there, and changes nothing", async () => {
    const { call, gateway, u2 } = await withVictim();
    const before = structuredClone(gateway.threads.get("v1/acme/analyst/t1"));
    const missing = "/v1/agents/analyst/threads/missing";
    for (const [index, action] of actionsOn(THREAD).entries()) {
      const [method, path, init] = action;
      const foreign = await call(method, path, { ...init, as: u2 });
      expect([method, path, foreign.status]).toEqual([method, path, 404]);
      if (method === "HEAD") continue;
      const body = await problemOf(foreign);
      expect(JSON.stringify(body)).not.toMatch(/canary|t1|u1|internal words/);
      expect(body).toEqual(await problemOf(await call("GET", missing, { as: u2 })));
      // A write to a missing thread creates it, so there is no such answer to compare with.
      const other = actionsOn(missing)[index];
      if (other === undefined || writes(action)) continue;
      const absent = await call(other[0], other[1], { ...other[2], as: u2 });
      expect([absent.status, await problemOf(absent)]).toEqual([404, body]);
    }
    expect(gateway.threads.get("v1/acme/analyst/t1")).toEqual(before);
    expect(gateway.streamsOpened).toEqual([]);
  });

  it("[Z3] another tenant's service reaches nothing by the same ids", async () => {
    const { call, gateway } = await withVictim();
    for (const action of actionsOn(THREAD).filter((each) => !writes(each))) {
      const [method, path, init] = action;
      expect((await call(method, path, { ...init, as: keyText("z") })).status).toBe(404);
    }
    expect(gateway.calls.filter((each) => each.includes("v1/zeta/"))).not.toEqual([]);
    await call("POST", `${THREAD}/messages`, { as: keyText("z"), json: { text: "mine" } });
    expect(gateway.threads.get("v1/acme/analyst/t1")?.texts).toEqual(["canary-ONE"]);
    expect(gateway.threads.get("v1/zeta/analyst/t1")?.texts).toEqual(["mine"]);
  });

  it("[Z5] lists show a user its own threads, a service those of its tenant, and no filter widens that", async () => {
    const { call, u2 } = await withVictim();
    await call("POST", "/v1/agents/analyst/threads/t2/messages", {
      as: u2,
      json: { text: "hello" },
    });
    const threadsOf = async (as: string, path = "/v1/threads") => {
      const { items } = await (
        await call("GET", path, { as })
      ).json<{ items: { thread: string }[] }>();
      return items.map(({ thread }) => thread).toSorted();
    };
    expect(await threadsOf(u2)).toEqual(["t2"]);
    expect(await threadsOf(u2, "/v1/agents/analyst/threads")).toEqual(["t2"]);
    expect(await threadsOf(u2, "/v1/agents/other/threads")).toEqual([]);
    expect(await threadsOf(keyText("a"))).toEqual(["t1", "t2"]);
    expect(await threadsOf(keyText("z"))).toEqual([]);
    for (const query of ["owner=u1", "user=u1", "tenant=acme", "owner="]) {
      expect((await call("GET", `/v1/threads?${query}`, { as: u2 })).status).toBe(400);
    }
  });

  it("[Z5] identity in a body is refused as an unknown field", async () => {
    const { call, u2, gateway } = await withVictim();
    for (const extra of [
      { owner: "u1" },
      { tenant: "zeta" },
      { thread: "t1" },
      { checkpoint: { thread: "t1" } },
      { principal: { id: "u1" } },
    ]) {
      const response = await call("POST", "/v1/agents/analyst/threads/own/messages", {
        as: u2,
        json: { text: "x", ...extra },
      });
      expect(response.status).toBe(400);
    }
    expect(gateway.threads.has("v1/acme/analyst/own")).toBe(false);
  });

  it.each(["t1%2F..%2Ft1", "..", "%2e%2e", "v1%2Facme", "t 1", "t1%00", "é", "a".repeat(65), "-t"])(
    "[Z3] the thread id %j names nothing and reaches no object",
    async (id) => {
      const { call, gateway } = createTestApp();
      const response = await call("GET", `/v1/agents/analyst/threads/${id}/runs`);
      expect(response.status).toBe(404);
      expect(gateway.calls).toEqual([]);
    },
  );

  it("[Z2] a service acts for a user only through a token: no header or query makes it one", async () => {
    const { call, gateway } = createTestApp();
    await call("POST", `${THREAD}/messages`, {
      json: { text: "x" },
      headers: { "x-user": "u1", "x-holdfast-user": "u1", "x-tenant": "zeta" },
    });
    expect(gateway.threads.get("v1/acme/analyst/t1")?.owner).toBe("key_a");
  });

  it("[Z5] an agent's instructions are shown to the operator's keys and not to users", async () => {
    const { call, mint } = createTestApp();
    const asUser = await (await call("GET", "/v1/agents/analyst", { as: await mint("u1") })).text();
    expect(asUser).not.toContain("operator's own words");
    expect(await (await call("GET", "/v1/agents/analyst")).text()).toContain(
      "operator's own words",
    );
  });
});
