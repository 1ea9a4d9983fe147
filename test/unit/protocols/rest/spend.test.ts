/** Spend and prices over REST: who sees what, in which shapes. */
import { describe, expect, it } from "vitest";
import { NO_SPEND, type SpendEntry } from "#kernel/spend.ts";
import type { PriceOverride } from "#ports/price-overrides.ts";
import { trusted, type AgentName, type TenantId, type ThreadId } from "#shared/ids.ts";
import {
  createTestApp,
  keyText,
  problemOf,
  SERVICE_SCOPES,
  THREAD,
} from "#test/support/test-app.ts";

const OPERATOR = keyText("o");
const ORDINARY = keyText("r");
const ROUTE = "openai-compatible/qwen3:8b";
const RATES = { inputMicrosPerMillion: 150_000, outputMicrosPerMillion: 600_000 };

async function setUp() {
  const app = createTestApp();
  app.addKey(OPERATOR, { kind: "operator", scopes: SERVICE_SCOPES });
  const ordinary = SERVICE_SCOPES.filter((scope) => scope !== "operate");
  app.addKey(ORDINARY, { scopes: ordinary });
  const add = (owner: string, entries: readonly Partial<SpendEntry>[], tenant = "acme") =>
    app.spend.add({
      place: {
        tenant: trusted<TenantId>(tenant),
        agent: trusted<AgentName>("analyst"),
        thread: trusted<ThreadId>(`t-${owner}`),
        owner,
      },
      logId: `log_${owner}`,
      from: 0,
      to: 5,
      entries: entries.map((entry) => ({
        day: "2026-11-30",
        route: "workers-ai/x",
        tool: "",
        kind: "normal",
        ...NO_SPEND,
        calls: 1,
        ...entry,
      })),
    });
  await add("u1", [
    { micros: 40, input: 100, output: 5 },
    { route: "unknown/y", unpriced: 1 },
  ]);
  await add("u2", [
    { micros: 7, day: "2026-12-01", kind: "recovery" },
    { tool: "=cmd|' /C calc'!A0", route: "" },
  ]);
  await add("u1", [{ micros: 999 }], "zeta");
  const get = async (path: string, as?: string) =>
    (await app.call("GET", path, as === undefined ? {} : { as })).json<{
      items: Record<string, unknown>[];
      next: string | null;
    }>();
  return { ...app, get };
}

describe("GET /v1/spend", () => {
  it("[B30] sums a tenant's own; what nobody knows is null and counted, never 0", async () => {
    const { get } = await setUp();
    const { items } = await get("/v1/spend?group_by=model");
    expect(items.map(({ model, costMicros, unpriced }) => [model, costMicros, unpriced])).toEqual([
      ["", 0, 0],
      ["unknown/y", null, 1],
      ["workers-ai/x", 47, 0],
    ]);
  });

  it("[B30] a user sees the user's own threads, whoever else's are asked for", async () => {
    const { get, mint } = await setUp();
    const as = await mint("u1");
    expect((await get("/v1/spend?group_by=user", as)).items).toMatchObject([
      { user: "u1", costMicros: 40, unpriced: 1, calls: 2 },
    ]);
    expect((await get("/v1/spend?group_by=user&user=u2", as)).items).toEqual([]);
  });

  it("[B28] by day, with bounds, and page by page", async () => {
    const { get } = await setUp();
    const days = await get("/v1/spend?from=2026-12-01&to=2026-12-01");
    expect(days.items).toMatchObject([{ day: "2026-12-01", costMicros: 7, recoveryMicros: 7 }]);
    const first = await get("/v1/spend?group_by=user,kind&limit=2");
    expect(first.items.map(({ user, kind }) => [user, kind])).toEqual([
      ["u1", "normal"],
      ["u2", "normal"],
    ]);
    const second = await get(`/v1/spend?group_by=user,kind&limit=2&after=${first.next}`);
    expect(second).toMatchObject({ items: [{ user: "u2", kind: "recovery" }], next: null });
  });

  it.each(["group_by=nobody", "group_by=day,day", "from=2026-02-30", "limit=0", "after=a,b,c"])(
    "[P6] refuses %s and says what to send",
    async (query) => {
      const { call } = await setUp();
      const response = await call("GET", `/v1/spend?${query}`);
      expect(response.status).toBe(400);
      expect(await problemOf(response)).toMatchObject({ code: "invalid_request" });
    },
  );

  it("[B31] comes as CSV by path or by Accept, and no cell begins a formula", async () => {
    const { call } = await setUp();
    const byPath = await call("GET", "/v1/spend.csv?group_by=tool,model");
    const text = await byPath.text();
    expect(byPath.headers.get("content-type")).toContain("text/csv");
    const lines = text.trimEnd().split("\r\n");
    expect(lines[0]).toMatch(
      /^tool,model,costMicros,recoveryMicros,estimatedMicros,calls,unpriced/,
    );
    expect(lines).toContain(",unknown/y,,0,0,1,1,0,0,0,0,0,0,0");
    expect(lines.at(-1)).toMatch(/^'=cmd/);
    const accepted = await call("GET", "/v1/spend?group_by=tool,model", {
      headers: { accept: "text/csv" },
    });
    expect(await accepted.text()).toBe(text);
  });
});

describe("late usage and checks", () => {
  it("[B26][B29] need the scope operate", async () => {
    const { call } = await setUp();
    const usage = { intent: "evt_1", usage: { prompt_tokens: 1, completion_tokens: 1 } };
    expect((await call("POST", THREAD, { as: OPERATOR })).status).not.toBe(201);
    for (const [path, json] of [
      [`${THREAD}/usage`, usage],
      [`${THREAD}/spend/check`, {}],
    ] as const) {
      const refused = await call("POST", path, { as: ORDINARY, json });
      expect(refused.status).toBe(403);
      expect(await problemOf(refused)).toMatchObject({ context: { scope: "operate" } });
    }
  });
});

describe("/v1/prices", () => {
  it("[B24] sets, lists and removes a tenant's own price; the version follows from the rates", async () => {
    const { call } = await setUp();
    const put = async (as: string) =>
      call("PUT", "/v1/prices", { as, json: { route: ROUTE, rates: RATES } });
    const set = await (await put(OPERATOR)).json<PriceOverride>();
    expect(set).toMatchObject({ route: ROUTE, source: "own", rates: RATES, retiredAt: null });
    expect(set.version).toMatch(/^own-[0-9a-f]{16}$/);
    expect((await (await put(OPERATOR)).json<PriceOverride>()).version).toBe(set.version);
    const list = async (query = "") =>
      (await call("GET", `/v1/prices${query}`, { as: OPERATOR })).json<{
        items: PriceOverride[];
      }>();
    expect((await list()).items).toHaveLength(1);
    const path = `?route=${encodeURIComponent(ROUTE)}`;
    expect(await (await call("DELETE", `/v1/prices${path}`, { as: OPERATOR })).json()).toEqual({
      removed: true,
    });
    expect((await list()).items).toEqual([]);
    expect((await list(path)).items).toMatchObject([{ version: set.version, source: "own" }]);
    expect((await list("?route=embedded/scripted")).items).toMatchObject([
      { source: "table", rates: { inputMicrosPerMillion: 0 } },
    ]);
    expect((await list("?route=nobody/knows")).items).toEqual([]);
  });

  it("[B32] tiers are set with a price, in rising order, each once", async () => {
    const { call } = await setUp();
    const tier = (aboveInputTokens: number) => ({ aboveInputTokens, ...RATES });
    const put = (tiers: readonly object[]) =>
      call("PUT", "/v1/prices", {
        as: OPERATOR,
        json: { route: ROUTE, rates: { ...RATES, tiers } },
      });
    for (const tiers of [
      [],
      [tier(0)],
      [tier(200), tier(200)],
      [tier(200), tier(100)],
      [{ aboveInputTokens: 5 }],
    ])
      expect((await put(tiers)).status).toBe(400);
    const set = await put([tier(100), tier(200)]);
    expect(set.status).toBe(200);
    const { version } = await set.json<{ version: string }>();
    const other = await put([tier(100), tier(201)]);
    expect((await other.json<{ version: string }>()).version).not.toBe(version);
    const listed = await call("GET", "/v1/prices", { as: OPERATOR });
    expect(await listed.json()).toMatchObject({
      items: [{ route: ROUTE, rates: { ...RATES, tiers: [tier(100), tier(201)] } }],
    });
  });

  it("[B24] is for those who operate, and a user's never", async () => {
    const { call, mint } = await setUp();
    const json = { route: ROUTE, rates: RATES };
    for (const as of [ORDINARY, await mint("u1")])
      expect((await call("PUT", "/v1/prices", { as, json })).status).toBe(403);
    for (const rates of [
      { ...RATES, inputMicrosPerMillion: 0.5 },
      { inputMicrosPerMillion: 1 },
      { ...RATES, x: 1 },
    ])
      expect(
        (await call("PUT", "/v1/prices", { as: OPERATOR, json: { route: ROUTE, rates } })).status,
      ).toBe(400);
  });
});
