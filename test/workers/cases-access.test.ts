/** Handed cases of access and of error shapes: foreign ids, listings and broken streams through the public API. */
import { abortAllDurableObjects, env } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { Model } from "#ports/model.ts";
import type { Tool } from "#ports/tool.ts";
import type { Json } from "#shared/json.ts";
import type { Env } from "#src/env.ts";
import { C07, G07, H01 } from "../fixtures/cases.ts";
import { Api, threadPath } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask, say, ScriptModel } from "../support/scripted-model.ts";
import { SocketClient } from "../support/socket-client.ts";
import { shownText, TERMINAL, typesOf } from "../support/sse-reader.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";
import { actionsOn, answer } from "../support/foreign-actions.ts";

const { DB } = env as unknown as Env;

let t1: Api;
let t2: Api;
let u1: Api;
let u2: Api;
beforeAll(async () => {
  [t1, t2] = [await Api.service(H01.tenants[0]), await Api.service(H01.tenants[1])];
  [u1, u2] = [await t1.user("u1"), await t1.user("u2")];
});
afterEach(() => {
  lab.models.clear();
  vi.restoreAllMocks();
});

function install(name: string, model: Model, tools: readonly Tool[] = []): void {
  const route = `test/${name}`;
  deploy(defineAgent({ name, description: name, instructions: "Help.", model: route, tools }));
  lab.models.set(route, model);
}

describe("H01: knowing an id is not enough", () => {
  const { agent, thread } = H01.victim;
  const path = threadPath(agent, thread);

  it("H01 [Z5] every action answers as for a random id, changes nothing, delivers nothing, and is logged under who asked", async () => {
    const model = new ScriptModel([[{ text: "secret" }, { hold: true }, { finish: "stop" }]]);
    install(agent, model);
    const victim = new ThreadClient(u1, agent, thread);
    await victim.writeFile("secret.txt", "secret");
    const runId = await victim.send("a secret");
    await u1.until(async () => (model.waiting === 1 ? true : null));
    const service = victim.as(t1);
    const before = await service.events();
    const lines: string[] = [];
    const log = vi
      .spyOn(console, "log")
      .mockImplementation((line: string) => void lines.push(line));

    const random = actionsOn(threadPath(agent, "s9"), "run_9");
    const strangers = [
      { who: t2, tenant: "t2", statuses: [404] },
      // Users lack the scopes of audit and erase, for any id.
      { who: await t2.user("u1"), tenant: "t2", statuses: [404, 403] },
      { who: u2, tenant: "t1", statuses: [404, 403] },
    ];
    for (const { who, statuses } of strangers) {
      for (const [index, action] of actionsOn(path, runId).entries()) {
        const foreign = await answer(who, action);
        expect(foreign, `${action.method} ${action.path}`).toEqual(
          await answer(who, random[index] ?? action),
        );
        expect(statuses).toContain(foreign.status);
      }
    }
    log.mockRestore();
    const logged = lines.map((line) => JSON.parse(line) as { tenant: string; status: number });
    for (const { tenant } of strangers)
      expect(logged.some((line) => line.tenant === tenant && line.status === 404)).toBe(true);
    expect(await service.events()).toEqual(before);
    expect(await victim.text("secret.txt")).toBe("secret");
    model.release();
    expect(await victim.ended(runId)).toMatchObject({ status: "completed", text: "secret" });
    expect(model.requests).toHaveLength(1);
  });

  it("H01 [Z4] another user of the tenant cannot send to it, write into it or take it over", async () => {
    install(agent, new StrictModel([say("hello")]));
    const victim = new ThreadClient(u1, agent, "s2");
    await victim.ask("mine");
    const before = await victim.as(t1).events();
    const foreign = victim.as(u2);
    const sent = await u2.json("POST", `${foreign.path}/messages`, {
      text: "steer",
      delivery: "steer",
    });
    const created = await u2.json("POST", `/v1/agents/${agent}/threads`, { id: "s2" });
    const written = await u2.fetch("PUT", `${foreign.path}/files/a.txt`, { body: "x" });
    expect([sent.status, created.status, written.status]).toEqual([404, 404, 404]);
    expect(await victim.as(t1).events()).toEqual(before);
  });

  it("H01 [Z3] [Z5] a socket to its path is refused to another user, and is another object to another tenant", async () => {
    install(agent, new StrictModel([say("secret")]));
    const victim = new ThreadClient(u1, agent, "s4");
    await victim.ask("mine");
    const before = await victim.as(t1).events();
    const refused = await SocketClient.upgrade(u2, agent, "s4");
    expect([refused.status, refused.webSocket ?? null]).toEqual([404, null]);
    const foreign = await SocketClient.open(t2, agent, "s4");
    await t2.until(async () => (foreign.of("cf_agent_identity").length > 0 ? true : null));
    expect(foreign.of("cf_agent_chat_messages")).toMatchObject([{ messages: [] }]);
    expect(JSON.stringify(foreign.frames)).not.toContain("secret");
    const ticket = await u2.json("POST", "/v1/tickets", { agent, thread: "s4" });
    expect(ticket).toMatchObject({ status: 404, body: { code: "not_found" } });
    foreign.close();
    expect(await victim.as(t1).events()).toEqual(before);
  });

  it("H01 [Z3] the same ids under another tenant are another object, whatever a body or path claims", async () => {
    install(agent, new StrictModel([say("hello"), say("never")]));
    const victim = new ThreadClient(t1, agent, "s3");
    await victim.ask("mine");
    const before = await victim.events();
    const own = victim.as(t2);
    expect(await own.ask("t2 speaks")).toMatchObject({ status: "completed" });
    expect(
      (await own.messages()).map(({ content }) => JSON.stringify(content)).join(),
    ).not.toContain("mine");
    const nested: readonly Json[] = [
      { text: "x", thread: "t2-own", checkpoint: { thread: "s3" } },
      { text: "x", tenant: "t1" },
      { text: "x", owner: "u1" },
    ];
    for (const body of nested) {
      const refused = await t2.json("POST", `${own.path}/messages`, body);
      expect(refused).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    }
    const guesses = ["t1%2Fa1", "v1%2Ft1%2Fa1", "..%2Ft1", "t1/a1"];
    for (const guess of guesses)
      expect((await t2.fetch("GET", `/v1/agents/${guess}/threads/s3`)).status, guess).toBe(404);
    const listed = await t2.json("GET", "/v1/threads?tenant=t1");
    expect(listed.status).toBe(400);
    expect(JSON.stringify((await t2.json("GET", "/v1/threads")).body)).not.toContain("u1");
    expect(await victim.events()).toEqual(before);
  });

  it("H01 [Z4] a thread without an owner is closed to everybody, its maker and services included", async () => {
    install(agent, new StrictModel([say("hello")]));
    const orphan = new ThreadClient(u1, agent, "ownerless");
    await orphan.ask("mine");
    const erased = await t1.json("POST", `${orphan.path}/events/1/erase`);
    expect(erased).toMatchObject({ status: 200, body: { erased: 1 } });
    await abortAllDurableObjects();
    for (const who of [u1, u2, t1, t2]) {
      const closed = await answer(who, { method: "GET", path: orphan.path });
      expect(closed).toEqual(await answer(who, { method: "GET", path: threadPath(agent, "s9") }));
    }
    const sent = await u1.json("POST", `${orphan.path}/messages`, { text: "again" });
    expect(sent.status).toBe(404);
  });
});

describe("C07: listings show what the caller owns", () => {
  it("C07 [Z5] u2 meets nothing of u1, by list, id, filter or reuse", async () => {
    const seen: string[] = [];
    const look = defineTool({
      name: "look",
      description: "Lists the files.",
      version: "1",
      input: z.object({}),
      effect: "read",
      execute: (_, { files }) => {
        seen.push(...files.list().map(({ path }) => path));
        return files.list().map(({ path }) => path);
      },
    });
    install(
      "c07",
      new StrictModel((request) =>
        request.messages.at(-1)?.role === "user" ? ask(["look"]) : say("ok"),
      ),
      [look],
    );
    for (const [user, canary] of Object.entries(C07.canaries)) {
      const who = user === "u1" ? u1 : u2;
      const thread = `of-${user}`;
      await who.json("POST", "/v1/agents/c07/threads", { id: thread, title: canary });
      const client = new ThreadClient(who, "c07", thread);
      await client.writeFile(`${canary}.txt`, canary);
      expect(await client.ask(canary)).toMatchObject({ status: "completed" });
    }
    // The same holds for the agent's tools: each run saw the files of its own thread only.
    expect(seen).toEqual(["canary-ONE.txt", "canary-TWO.txt"]);
    const foreign = threadPath("c07", "of-u1");
    const asked: readonly (readonly [method: string, path: string, body?: Json])[] = [
      ["GET", "/v1/threads"],
      ["GET", "/v1/agents/c07/threads"],
      ["GET", "/v1/threads?limit=200"],
      ["GET", "/v1/threads?user=u1"],
      ["GET", "/v1/threads?owner=u1"],
      ["GET", "/v1/threads?owner="],
      ["GET", "/v1/threads?after=9999999999999.c07.of-u1"],
      ["GET", foreign],
      ["GET", `${foreign}/messages`],
      ["GET", `${foreign}/files`],
      ["POST", `${foreign}/messages`, { text: "reuse" }],
      ["POST", "/v1/agents/c07/threads", { id: "of-u1" }],
    ];
    const texts: string[] = [];
    for (const [method, path, body] of asked)
      texts.push(JSON.stringify((await u2.json(method, path, body)).body));
    expect(texts.filter((text) => text.includes(C07.canaries.u1))).toEqual([]);
    expect(texts[0]).toContain(C07.canaries.u2);
    expect(texts[3]).toContain("invalid_request");
    expect((await u2.json("GET", foreign)).status).toBe(404);
  });

  it("C07 [Z4] a row without an owner is listed for no user", async () => {
    await DB.prepare(
      "INSERT INTO threads (tenant, agent, thread, owner, title, created_at, last_seq, updated_at) VALUES ('t1', 'c07', 'orphan', '', 'canary-ONE', 1, 0, 1)",
    ).run();
    for (const who of [u1, u2])
      expect(JSON.stringify((await who.json("GET", "/v1/threads?limit=200")).body)).not.toContain(
        "orphan",
      );
    expect((await u2.json("GET", threadPath("c07", "orphan"))).status).toBe(404);
    expect((await t1.json("GET", threadPath("c07", "orphan"))).status).toBe(404);
  });
});

const Problem = z.strictObject({
  type: z.string().startsWith("urn:holdfast:problem:"),
  title: z.string().min(1),
  status: z.int(),
  code: z.string().regex(/^[a-z_]+$/),
  detail: z.string().min(1),
  retryable: z.boolean(),
  requestId: z.string().min(1),
  context: z.record(z.string(), z.unknown()),
});

describe("G07: errors have one shape", () => {
  it("G07 [P1] every refusal over HTTP is the same problem document", async () => {
    install("g07", new StrictModel([say("hello")]));
    const path = threadPath("g07", "t1");
    await new ThreadClient(t1, "g07", "t1").ask("hi");
    const cases: readonly (readonly [number, string, string, RequestInit?])[] = [
      [
        400,
        "POST",
        `${path}/messages`,
        { body: "{", headers: { "content-type": "application/json" } },
      ],
      [
        400,
        "POST",
        `${path}/messages`,
        { body: "{}", headers: { "content-type": "application/json" } },
      ],
      [
        400,
        "GET",
        `${path}/events`,
        { headers: { accept: "text/event-stream", "last-event-id": "x" } },
      ],
      [404, "GET", "/v1/nothing"],
      [404, "GET", "/nothing"],
      [404, "GET", threadPath("g07", "t9")],
      [404, "GET", "/v1/agents/unknown"],
      [405, "PATCH", path],
      [405, "POST", "/healthz"],
      [
        409,
        "POST",
        `${path}/runs/${(await new ThreadClient(t1, "g07", "t1").ask("hi")).runId}/cancel`,
      ],
      [
        413,
        "PUT",
        `${path}/state`,
        { body: `"${"x".repeat(2_000_000)}"`, headers: { "content-type": "application/json" } },
      ],
      [416, "GET", `${path}/files/a.txt`, { headers: { range: "bytes=9-" } }],
    ];
    await new ThreadClient(t1, "g07", "t1").writeFile("a.txt", "a");
    for (const [status, method, route, init] of cases) {
      const response = await t1.fetch(method, route, init);
      expect(response.status, `${method} ${route}`).toBe(status);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(Problem.parse(await response.json())).toMatchObject({ status });
    }
  });

  it("G07 [P1] a provider that fails after three chunks fails the run, and its stream says so", async () => {
    const chunks = Array.from({ length: G07.chunksBeforeError }, (_, index) => ({
      text: `part ${index} `,
    }));
    install(
      "g07-error",
      new StrictModel(() => [...chunks, { error: "unavailable", retryable: false }]),
    );
    const thread = new ThreadClient(t1, "g07-error", "t1");
    const runId = await thread.send("hi");
    const run = await thread.ended(runId);
    expect(run).toMatchObject({ status: "failed", finish: null, text: null });
    expect(run.reason).toMatch(/^model_/);
    const events = await (await thread.stream(runId)).toEnd();
    expect(typesOf(events).filter((type) => TERMINAL.has(type))).toEqual(["run.failed"]);
    const failed = events.find(({ data }) => data.header?.type === "model.failed");
    expect(failed?.data.payload).toMatchObject({
      code: "unavailable",
      partial: "part 0 part 1 part 2 ",
    });
  });

  it("G07 [P3] an upstream cut in the middle is asked again, and the client discards what it had", async () => {
    const replies = [[{ text: "half an ans" }, { eof: true } as const], say("a whole answer")];
    const model = new StrictModel((_, index) => replies[index] ?? []);
    install("g07-cut", model);
    const thread = new ThreadClient(t1, "g07-cut", "t1");
    const runId = await thread.send("hi");
    const reader = await thread.stream(runId);
    const events = await reader.toEnd();
    expect(await thread.ended(runId)).toMatchObject({ finish: "stop", text: "a whole answer" });
    expect(events.filter(({ event }) => event === "discard")).toHaveLength(1);
    expect(shownText(events)).toBe("a whole answer");
    expect(model.requests).toHaveLength(2);
  });

  it("G07 [P1] a stream that breaks ends with one error event and no terminal event", async () => {
    const model = new ScriptModel([[{ text: "half" }, { hang: true }]]);
    install("g07-broken", model);
    const thread = new ThreadClient(t1, "g07-broken", "t1");
    const runId = await thread.send("hi");
    const reader = await thread.stream(runId);
    await reader.until(({ events }) => shownText(events) === "half");
    await abortAllDurableObjects();
    const events = await reader.toEnd();
    const errors = events.filter(({ event }) => event === "error");
    expect(errors).toHaveLength(1);
    expect(events.at(-1)).toBe(errors[0]);
    expect(Problem.parse(errors[0]?.data)).toMatchObject({ code: "unavailable", retryable: true });
    expect(errors[0]?.id).toBe("");
    expect(typesOf(events).filter((type) => TERMINAL.has(type))).toEqual([]);
    await t1.json("POST", `${thread.path}/runs/${runId}/cancel`);
  });

  it("G07 [G5] a client that leaves detaches: the run goes on and its answer is paid for once", async () => {
    const model = new ScriptModel([
      [{ text: "half " }, { hold: true }, { text: "whole" }, { finish: "stop" }],
    ]);
    install("g07-left", model);
    const thread = new ThreadClient(t1, "g07-left", "t1");
    const runId = await thread.send("hi");
    const reader = await thread.stream(runId);
    await reader.until(({ events }) => shownText(events) === "half ");
    await reader.drop();
    model.release();
    expect(await thread.ended(runId)).toMatchObject({ finish: "stop", text: "half whole" });
    expect(model.requests).toHaveLength(1);
    expect(await thread.of("model.answered")).toHaveLength(1);
  });
});
