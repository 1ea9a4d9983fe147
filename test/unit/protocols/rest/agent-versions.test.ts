/** Agents over REST: what is stored, what is refused, and who may. */
import { describe, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import { PROMOTED_TTL_MS } from "#adapters/agent-versions/cached-promoted-agents.ts";
import type { Tool } from "#ports/tool.ts";
import type { AgentName, TenantId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import type { JsonObject } from "#shared/json.ts";
import { createTestApp, keyText, SERVICE_SCOPES } from "#test/support/test-app.ts";
import { World } from "#test/support/world.ts";

const world = new World();
const note = world.tool("note", "read");
const wire = world.tool("wire", "once", undefined, { approval: "always" });
const ask = world.tool("ask", "read", undefined, { approval: "question" });
const agentOf = (name: string, tools: readonly Tool[]) =>
  defineAgent({ name, description: "", instructions: "x", tools });

const ADMIN = keyText("m");

function start(agents = [agentOf("one", [note, wire]), agentOf("two", [note, ask])]) {
  const own = createTestApp({ agents });
  own.addKey(ADMIN, { scopes: [...SERVICE_SCOPES, "agents:write"] });
  const call: typeof own.call = (method, path, init) =>
    own.call(method, path, { as: ADMIN, ...init });
  const store = (more: JsonObject = {}) =>
    call("POST", "/v1/agents", { json: { name: "helper", instructions: "Help.", ...more } });
  const stored = async (more: JsonObject = {}) => {
    const response = await store(more);
    expect(response.status).toBe(201);
    return response.json<{ definition: string; manifest: Record<string, unknown> }>();
  };
  const change = (verb: "promote" | "retire", definition: string) =>
    call("POST", `/v1/agents/helper/versions/${definition}/${verb}`);
  const versions = async () => {
    const response = await call("GET", "/v1/agents/helper/versions");
    return response.status === 200
      ? (await response.json<{ items: { definition: string }[] }>()).items
      : [];
  };
  return { ...own, table: own.versions, call, store, stored, change, versions };
}
const send = (own: ReturnType<typeof start>, agent = "helper", as = keyText("a")) =>
  own.call("POST", `/v1/agents/${agent}/threads/t1/messages`, { as, json: { text: "hello" } });

describe("storing", () => {
  it("[P43] makes a whole manifest of registered tools and defaults", async () => {
    const { stored } = start();
    const { definition, manifest } = await stored({
      tools: ["note", "wire"],
      limits: { maxSteps: 3 },
      approvals: { note: "always" },
    });
    expect(definition).toMatch(/^[0-9a-f]{64}$/);
    expect(manifest).toMatchObject({
      name: "helper",
      route: "embedded/scripted",
      limits: { maxSteps: 3, maxCostMicros: 1_000_000 },
      tools: [
        { name: "note", approval: "always", effect: "read" },
        { name: "wire", approval: "always", effect: "once" },
      ],
    });
  });

  it("[P49] schedules are part of the version, in whatever order they are given, and compared by name", async () => {
    const { stored, call } = start();
    const look = { everySeconds: 600, text: "Look." };
    const report = { cron: "30 7 * * 1-5", timeZone: "Europe/Berlin", text: "Report." };
    const one = await stored({ schedules: { look, report } });
    const rule = { type: "cron", expression: report.cron, timeZone: report.timeZone };
    expect(one.manifest["schedules"]).toEqual([
      { scheduleId: "look", rule: { type: "every", seconds: 600 }, text: "Look.", overlap: "skip" },
      { scheduleId: "report", rule, text: "Report.", overlap: "skip" },
    ]);
    expect(await stored({ schedules: { report, look } })).toEqual(one);
    const two = await stored({ schedules: { look: { ...look, overlap: "queue" } } });
    const diff = await call(
      "GET",
      `/v1/agents/helper/diff?from=${one.definition}&to=${two.definition}`,
    );
    const { changes } = await diff.json<{ changes: { path: string; change: string }[] }>();
    expect(changes.map(({ path, change }) => `${change} ${path}`)).toEqual([
      "changed /schedules/look/overlap",
      "removed /schedules/report",
    ]);
    expect((await stored()).manifest).not.toHaveProperty("schedules");
  });

  it("[P44] the same again is the same version", async () => {
    const { stored, versions, clock } = start();
    const first = await stored();
    clock.advance(1_000);
    expect(await stored()).toEqual(first);
    expect(await versions()).toHaveLength(1);
  });

  it.each<[string, JsonObject, string]>([
    ["an unknown tool", { tools: ["note", "rm"] }, "/tools/1"],
    ["a tool twice", { tools: ["note", "note"] }, "/tools"],
    [
      "an override of another's tool",
      { tools: [], approvals: { wire: "always" } },
      "/approvals/wire",
    ],
    [
      "an override of a question",
      { tools: ["ask"], approvals: { ask: "always" } },
      "/approvals/ask",
    ],
    ["a loosening", { tools: ["wire"], approvals: { wire: "never" } }, "/approvals/wire"],
    ["an unknown field", { model: "x" }, "/model"],
    ["blank instructions", { instructions: "  " }, "/instructions"],
    ["a bad name", { name: "Helper" }, "/name"],
    [
      "a schedule of less than a minute",
      { schedules: { a: { everySeconds: 59, text: "x" } } },
      "/schedules/a",
    ],
    [
      "a cron expression that is none",
      { schedules: { a: { cron: "61 * * * *", timeZone: "UTC", text: "x" } } },
      "/schedules/a",
    ],
    [
      "a time zone that is none",
      { schedules: { a: { cron: "1 * * * *", timeZone: "Mars/Base", text: "x" } } },
      "/schedules/a",
    ],
    [
      "a blank message",
      { schedules: { "b/c": { everySeconds: 60, text: " " } } },
      "/schedules/b~1c",
    ],
    [
      "two rules",
      { schedules: { a: { everySeconds: 60, cron: "1 * * * *", text: "x" } } },
      "/schedules/a/cron",
    ],
    [
      "the schedule that is one too many",
      {
        schedules: Object.fromEntries(
          Array.from({ length: 21 }, (_, index) => [`s${index}`, { everySeconds: 60, text: "x" }]),
        ),
      },
      "/schedules/s20",
    ],
    ["no steps", { limits: { maxSteps: 0 } }, "/limits/maxSteps"],
  ])("[P43] %s is refused with its path, and nothing is stored", async (_what, more, path) => {
    const { store, versions } = start();
    const response = await store(more);
    expect(response.status).toBe(400);
    const body = await response.json<{ code: string; context: { issues: { path: string }[] } }>();
    expect(body.code).toBe("invalid_request");
    expect(body.context.issues.map((issue) => issue.path)).toContain(path);
    expect(await versions()).toEqual([]);
  });

  it("[P43] a name that two agents give to different tools means neither", async () => {
    const other = new World().tool("note", "read");
    const { store } = start([agentOf("one", [note]), agentOf("two", [other])]);
    expect((await store({ tools: ["note"] })).status).toBe(400);
  });

  it("[P43] a body, and a manifest with its tools, has at most 256 KiB", async () => {
    const long = "d".repeat(150_000);
    const big = world.tool("big", "read", undefined, { description: long });
    const { store, versions } = start([agentOf("one", [big])]);
    const tooLong = await store({ instructions: "i".repeat(256 * 1024) });
    expect(tooLong.status).toBe(413);
    expect((await store({ instructions: "i".repeat(150_000) })).status).toBe(201);
    expect((await store({ instructions: "j".repeat(150_000), tools: ["big"] })).status).toBe(413);
    expect(await versions()).toHaveLength(1);
  });

  it("[P48] the name of an agent of the code is not taken over, and its version is listed", async () => {
    const { store, call } = start();
    const refused = await store({ name: "analyst" });
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ code: "conflict" });
    const definition = "d".repeat(64);
    const list = await call("GET", "/v1/agents/analyst/versions");
    expect(await list.json()).toMatchObject({ items: [{ source: "code", definition }] });
    const promoted = await call("POST", `/v1/agents/analyst/versions/${definition}/promote`);
    expect(promoted.status).toBe(409);
  });

  it("[P47] needs the scope, never a user, and shows nothing to another tenant", async () => {
    const own = start();
    const { definition } = await own.stored();
    const scopeless = await own.call("POST", "/v1/agents", { as: keyText("a"), json: {} });
    expect(scopeless.status).toBe(403);
    const token = await own.mint("ada", {}, ADMIN);
    expect((await own.call("GET", "/v1/agents/helper/versions", { as: token })).status).toBe(403);
    own.addKey(keyText("n"), { tenant: trusted<TenantId>("zeta"), scopes: ["agents:write"] });
    const path = `/v1/agents/helper/versions/${definition}`;
    expect((await own.call("GET", path, { as: keyText("n") })).status).toBe(404);
    expect((await own.call("POST", `${path}/promote`, { as: keyText("n") })).status).toBe(404);
  });
});

describe("promoting and retiring", () => {
  it("[P45] only a promoted version makes the agent known, in lists and for new threads", async () => {
    const own = start();
    const { definition } = await own.stored();
    expect(await (await send(own)).json()).toMatchObject({ code: "agent_unknown" });
    expect((await own.change("promote", definition)).status).toBe(200);
    expect((await send(own)).status).toBe(202);
    const list = await own.call("GET", "/v1/agents", { as: keyText("a") });
    const { items } = await list.json<{ items: { name: string; definition: string }[] }>();
    expect(items.map(({ name }) => name)).toEqual(["analyst", "helper"]);
    const one = await own.call("GET", "/v1/agents/helper", { as: keyText("a") });
    expect(await one.json()).toMatchObject({ name: "helper", definition });
    const token = await own.mint("ada");
    const seen = await own.call("GET", "/v1/agents/helper", { as: token });
    expect(await seen.json()).toMatchObject({ manifest: null });
  });

  it("[P45] of another tenant it stays unknown", async () => {
    const own = start();
    await own.change("promote", (await own.stored()).definition);
    expect((await send(own, "helper", keyText("z"))).status).toBe(404);
  });

  it("[P45] sockets open to it by key and by ticket, and not for another tenant or nobody", async () => {
    const own = start();
    await own.change("promote", (await own.stored()).definition);
    const upgrade = async (query: string, as: string | null) => {
      const before = own.gateway.upgrades.length;
      const headers = { upgrade: "websocket" };
      await own.call("GET", `/agents/helper/t1${query}`, { as, headers });
      return own.gateway.upgrades.length > before;
    };
    expect(await upgrade("", keyText("a"))).toBe(true);
    const place = { agent: "helper", thread: "t1" };
    const issued = await own.call("POST", "/v1/tickets", { as: keyText("a"), json: place });
    const { ticket } = await issued.json<{ ticket: string }>();
    expect(await upgrade(`?ticket=${ticket}`, null)).toBe(true);
    expect(await upgrade("", keyText("z"))).toBe(false);
    expect(await upgrade("", null)).toBe(false);
  });

  it("[P45] requests do not wait for D1: a change made elsewhere is seen within 60 s", async () => {
    const own = start();
    const { definition } = await own.stored();
    await own.change("promote", definition);
    expect((await send(own)).status).toBe(202);
    const key = { tenant: trusted<TenantId>("acme"), agent: trusted<AgentName>("helper") };
    await own.table.retire({ ...key, definition }, 1);
    expect((await send(own)).status).toBe(202);
    own.clock.advance(PROMOTED_TTL_MS);
    expect((await send(own)).status).toBe(404);
  });

  it("[P46] a retired version begins nothing any more and is not promoted again", async () => {
    const own = start();
    const { definition } = await own.stored();
    await own.change("promote", definition);
    const retired = await own.change("retire", definition);
    expect(await retired.json()).toMatchObject({ promotedAt: null, retiredAt: own.clock.now() });
    expect((await send(own)).status).toBe(404);
    const again = await own.change("promote", definition);
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({ code: "conflict" });
    expect((await own.change("retire", "0".repeat(64))).status).toBe(404);
  });

  it("[P44] versions are compared field by field, tools by name", async () => {
    const own = start();
    const from = (await own.stored({ tools: ["note", "wire"] })).definition;
    const to = (
      await own.stored({
        tools: ["wire", "ask"],
        instructions: "Help more.",
        limits: { maxSteps: 9 },
      })
    ).definition;
    const response = await own.call("GET", `/v1/agents/helper/diff?from=${from}&to=${to}`);
    const { changes } = await response.json<{ changes: JsonObject[] }>();
    expect(changes.map(({ path, change }) => [path, change])).toEqual([
      ["/instructions", "changed"],
      ["/limits/maxSteps", "changed"],
      ["/tools/ask", "added"],
      ["/tools/note", "removed"],
    ]);
    expect(changes[0]).toMatchObject({ before: "Help.", after: "Help more." });
    expect((await own.call("GET", `/v1/agents/helper/diff?from=${from}&to=x`)).status).toBe(400);
  });
});
