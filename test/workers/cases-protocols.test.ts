/** Handed cases of foreign ids over AG-UI, the OpenAI API, MCP and WebSockets; those of REST are in cases-access.test.ts. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import type { Json } from "#shared/json.ts";
import { H01, H09 } from "../fixtures/cases.ts";
import { Api, threadPath } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { say, ScriptModel } from "../support/scripted-model.ts";
import { SocketClient } from "../support/socket-client.ts";
import { ThreadClient } from "../support/thread-client.ts";

const AGENT = "told";
let t1: Api;
let t2: Api;
let u1: Api;
let u2: Api;

beforeAll(async () => {
  [t1, t2] = [await Api.service(H01.tenants[0]), await Api.service(H01.tenants[1])];
  [u1, u2] = [await t1.user("u1"), await t1.user("u2")];
});
afterEach(() => lab.models.clear());

function install(texts: readonly string[]): void {
  const route = `test/${AGENT}`;
  deploy(
    defineAgent({
      name: AGENT,
      description: AGENT,
      instructions: "Help.",
      model: route,
      tools: [],
    }),
  );
  lab.models.set(
    route,
    new ScriptModel(
      texts.map((text) => say(text)),
      { by: "call" },
    ),
  );
}

interface Asked {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: Json;
  readonly headers?: Record<string, string>;
}
async function answer(api: Api, { method, path, body, headers = {} }: Asked) {
  const response = await api.fetch(method, path, {
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // Of this answer alone: the request's id, and of an MCP stream that of its event.
  const same = text.replaceAll(/req_[0-9a-f]+/g, "req").replaceAll(/^id: [0-9a-f-]{36}$/gm, "id");
  return { status: response.status, text: same };
}

const agUiInput = (threadId: string, more: object = {}): Json => ({
  threadId,
  runId: `r-${threadId}`,
  messages: [{ id: `m-${threadId}`, role: "user", content: "hi" }],
  tools: [],
  context: [],
  state: {},
  forwardedProps: {},
  ...more,
});
const mcpCall = (name: string, args: object): Asked => ({
  method: "POST",
  path: `/mcp/${AGENT}`,
  headers: {
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
  },
  body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: { ...args } } },
});

/** Every way in beside REST that names a thread or a run of it. */
function actionsOn(thread: string, run: string): readonly Asked[] {
  const response = `resp_${AGENT}.${thread}.${run}.1`;
  const openai = "/openai/v1/responses";
  const resume = [{ interruptId: `evt_${"0".repeat(30)}`, status: "resolved", payload: true }];
  return [
    { method: "GET", path: `${openai}/${response}` },
    { method: "GET", path: `${openai}/${response}?stream=true&starting_after=1` },
    { method: "POST", path: `${openai}/${response}/cancel` },
    { method: "GET", path: `/ag-ui/${AGENT}/${thread}/runs/${run}` },
    { method: "POST", path: `/ag-ui/${AGENT}`, body: agUiInput(thread, { messages: [], resume }) },
    mcpCall("run_status", { thread, run }),
    mcpCall("run_result", { thread, run }),
    mcpCall("answer", { thread, approval: "evt_1", decision: "approve" }),
  ];
}

describe("H01: knowing an id is not enough, over any protocol", () => {
  it("H01 [Z5] OpenAI, AG-UI and MCP answer as for a random id, tell nothing and change nothing", async () => {
    install(["a secret", "never"]);
    const victim = new ThreadClient(u1, AGENT, "s1");
    const { runId } = await victim.ask("mine");
    const before = await victim.as(t1).events();
    for (const who of [t2, u2, await t2.user("u1")])
      for (const [index, action] of actionsOn("s1", runId).entries()) {
        const random = actionsOn("s9", `run_${"9".repeat(30)}`)[index]!;
        const foreign = await answer(who, action);
        const name = `${action.method} ${action.path} ${JSON.stringify(action.body)}`;
        expect(foreign, name).toEqual(await answer(who, random));
        expect(foreign.text, name).not.toContain("secret");
      }
    expect(await victim.as(t1).events()).toEqual(before);
  });

  it("H01 [Z3] [Z4] a message to its thread is refused to another user, and is another thread to another tenant", async () => {
    install(["a secret", "own", "own"]);
    const victim = new ThreadClient(u1, AGENT, "s2");
    const { runId } = await victim.ask("mine");
    const before = await victim.as(t1).events();
    const sends = (thread: string): readonly Asked[] => [
      { method: "POST", path: `/ag-ui/${AGENT}`, body: agUiInput(thread) },
      mcpCall("ask", { thread, message: "hi" }),
      {
        method: "POST",
        path: "/openai/v1/responses",
        body: {
          model: AGENT,
          input: "hi",
          previous_response_id: `resp_${AGENT}.${thread}.${runId}.1`,
        },
      },
    ];
    for (const action of sends("s2")) {
      const refused = await answer(u2, action);
      expect(refused.text).toMatch(/not_found|nothing here|no such/i);
      expect(refused.text).not.toContain("secret");
    }
    for (const action of sends("s2")) {
      const own = await answer(t2, action);
      expect(own.text).not.toContain("secret");
    }
    expect(await victim.as(t1).events()).toEqual(before);
    const made = await t2.json<{ owner: string }>("GET", threadPath(AGENT, "s2"));
    expect(made.status).toBe(200);
  });
});

/** Ids and texts of an AG-UI stream. */
function eventsOf(text: string): readonly { readonly id: string; readonly data: string }[] {
  return text.split("\n\n").flatMap((block) => {
    const [, id = ""] = /^id: (\S+)/m.exec(block) ?? [];
    const [, data = ""] = /^data: (.*)$/m.exec(block) ?? [];
    return data === "" ? [] : [{ id, data }];
  });
}

describe("H09: a replay never crosses", () => {
  it("H09 [P72] AG-UI: an id of another stream is refused, one's own gives what is behind it", async () => {
    expect(H09.sessions.sA.principal).toBe("t1");
    install(["a answer", "b answer"]);
    const a = new ThreadClient(t1, AGENT, "sA");
    const b = new ThreadClient(t2, AGENT, "sB");
    const [runA, runB] = [(await a.ask("a")).runId, (await b.ask("b")).runId];
    const read = (who: Api, thread: string, run: string, last?: string) =>
      answer(who, {
        method: "GET",
        path: `/ag-ui/${AGENT}/${thread}/runs/${run}`,
        headers: last === undefined ? {} : { "last-event-id": last },
      });
    const ofA = eventsOf((await read(t1, "sA", runA)).text);
    const ofB = eventsOf((await read(t2, "sB", runB)).text);
    const [a1, b1] = [ofA[0]!.id, ofB[0]!.id];
    // 1. An id of A on B's own stream.
    const crossed = await read(t2, "sB", runB, a1);
    expect(crossed.status).toBe(400);
    expect(eventsOf(crossed.text)).toEqual([]);
    // 2. Its own: exactly what is behind it.
    expect(eventsOf((await read(t2, "sB", runB, b1)).text)).toEqual(ofB.slice(1));
    // 3. A's place, with the token of another: as if it were not there.
    const foreign = await read(t2, "sA", runA, a1);
    expect(foreign.status).toBe(404);
    expect(foreign).toEqual(await read(t2, "s0", runA, a1));
    expect(ofA.some(({ data }) => data.includes("a answer"))).toBe(true);
    for (const { text } of [crossed, foreign]) expect(text).not.toContain("a answer");
  });

  it("H09 [P28] WebSocket: a run of another thread is not resumed", async () => {
    install(["a answer", "b answer"]);
    const a = new ThreadClient(t1, AGENT, "wA");
    const b = new ThreadClient(t2, AGENT, "wB");
    const [runA, runB] = [(await a.ask("a")).runId, (await b.ask("b")).runId];
    // 1 and 2. B's socket asks for A's stream, then for its own: its own messages, and nothing of A.
    const socket = await SocketClient.open(t2, AGENT, "wB");
    for (const id of [runA, runB]) {
      socket.send({ type: "cf_agent_stream_resume_ack", id });
      await t2.until(async () => (socket.stream(id).some(({ done }) => done) ? true : null));
    }
    const told = JSON.stringify(socket.frames);
    expect(told).toContain("b answer");
    expect(told).not.toContain("a answer");
    expect(socket.text(runA)).toBe("");
    // 3. A's thread under another's credentials: refused, or another object that knows nothing.
    const upgrade = await SocketClient.upgrade(await t1.user("stranger"), AGENT, "wA");
    expect(upgrade.status).toBe(404);
    const foreign = await SocketClient.open(t2, AGENT, "wA");
    foreign.send({ type: "cf_agent_stream_resume_ack", id: runA });
    await t2.until(async () => (foreign.stream(runA).some(({ done }) => done) ? true : null));
    expect(JSON.stringify(foreign.frames)).not.toContain("a answer");
    socket.close();
    foreign.close();
  });
});
