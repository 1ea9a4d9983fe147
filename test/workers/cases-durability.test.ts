/** Handed cases of durability: messages at the same time, a killed tool round, doubled resumes, payloads beyond a row. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { Model, ModelRequest } from "#ports/model.ts";
import type { EventView } from "#ports/thread-gateway.ts";
import type { Tool, ToolEffect } from "#ports/tool.ts";
import { utf8 } from "#shared/json.ts";
import { B10, B12, B15, B16 } from "../fixtures/cases.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask, say, type ScriptPart } from "../support/scripted-model.ts";
import { SocketClient } from "../support/socket-client.ts";
import { shownText, SseReader, TERMINAL, typesOf, seqFaults } from "../support/sse-reader.ts";
import { lastResults, StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";
import { GatedModel, ChunkModel } from "../support/gated-models.ts";

let api: Api;
beforeAll(async () => {
  api = await Api.service("durable");
});
afterEach(() => lab.models.clear());

function start(name: string, model: Model, tools: readonly Tool[] = []): ThreadClient {
  const route = `test/${name}`;
  deploy(defineAgent({ name, description: name, instructions: "Help.", model: route, tools }));
  lab.models.set(route, model);
  return new ThreadClient(api, name, "t1");
}

/** Waits for a condition of this isolate, which no request can tell. */
const until = (holds: () => boolean): Promise<void> =>
  api.until(async () => (holds() ? true : null)).then(() => undefined);

describe("B10: two messages at the same time", () => {
  const addWorker = (count: { workers: number }): Tool =>
    defineTool({
      name: B10.tool,
      description: "Adds a worker.",
      version: "1",
      input: z.object({}),
      effect: "once",
      execute: () => {
        count.workers += 1;
        return "added";
      },
    });
  /** A tool call for each message, then an answer that names it. */
  const reply = (request: ModelRequest): readonly ScriptPart[] => {
    const last = request.messages.at(-1);
    if (last?.role === "user") return ask([B10.tool]);
    const asked = request.messages.findLast((message) => message.role === "user")?.content[0];
    return say(`answer to ${asked?.type === "text" ? asked.text : ""}`);
  };
  /** Events of runs, without what commands add at any time. */
  const runsOf = (events: readonly EventView[]): readonly string[] =>
    events.flatMap(({ header }) =>
      header.run === null || header.type === "input.received" || header.type === "definition.pinned"
        ? []
        : [header.run],
    );
  const withoutRepeats = (runs: readonly string[]): readonly string[] =>
    runs.filter((run, index) => run !== runs[index - 1]);

  it("B10 [K3] turns follow one another, and the second sees the first one's answer", async () => {
    const count = { workers: 0 };
    const model = new StrictModel(reply);
    // The first turn cannot end before the second message is in.
    const gate = new GatedModel(model);
    const service = start("b10", gate, [addWorker(count)]);
    const [one, two] = [await api.user("u1"), await api.user("u1")];
    await one.json("POST", "/v1/agents/b10/threads", { id: "t1" });
    const [a, b] = await Promise.all([
      service.as(one).send(B10.messages[0]),
      service.as(two).send(B10.messages[1]),
    ]);
    gate.open = true;
    await Promise.all([service.ended(a), service.ended(b)]);
    const events = await service.events();
    const order = withoutRepeats(runsOf(events));
    expect(order.toSorted()).toEqual([a, b].toSorted());
    expect(count.workers).toBe(2);
    const [first, second] = order[0] === a ? ["A", "B"] : ["B", "A"];
    const texts = model.requests
      .at(-1)
      ?.messages.flatMap(({ content }) =>
        content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
      );
    expect(texts).toEqual([first, `answer to ${first}`, second]);
    expect(events.map(({ header }) => header.seq)).toEqual(events.map((_, index) => index + 1));
    expect(model.rejections).toEqual([]);
  });

  it("B10 [K3] one over a socket, one over HTTP: the second waits and sees the first one's answer", async () => {
    const count = { workers: 0 };
    const model = new StrictModel(reply);
    const gate = new GatedModel(model);
    const thread = start("b10-socket", gate, [addWorker(count)]);
    await api.json("POST", "/v1/agents/b10-socket/threads", { id: "t1" });
    const socket = await SocketClient.open(api, "b10-socket", "t1");
    socket.ask("r1", B10.messages[0]);
    const b = await thread.send(B10.messages[1]);
    await api.until(async () => ((await thread.of("input.received")).length === 2 ? true : null));
    gate.open = true;
    await thread.ended(b);
    await until(() => socket.stream("r1").some((frame) => frame["done"] === true));
    const events = await thread.events();
    const order = withoutRepeats(runsOf(events));
    expect(order).toHaveLength(2);
    expect(count.workers).toBe(2);
    const [first, second] = order[1] === b ? ["A", "B"] : ["B", "A"];
    const texts = model.requests
      .at(-1)
      ?.messages.flatMap(({ content }) =>
        content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
      );
    expect(texts).toEqual([first, `answer to ${first}`, second]);
    expect(socket.text("r1")).toBe("answer to A");
    expect(socket.stream("r1").filter((frame) => frame["done"] === true)).toHaveLength(1);
    expect(model.rejections).toEqual([]);
    socket.close();
  });

  it("B10 [K3] under the reject policy the second is refused as run_active and changes nothing", async () => {
    const model = new ChunkModel(["first"]);
    const thread = start("b10-reject", model);
    const runId = await thread.send("A");
    await until(() => model.calls === 1);
    const before = (await thread.events()).length;
    const refused = await api.json("POST", `${thread.path}/messages`, {
      text: "B",
      delivery: "reject",
    });
    expect(refused).toMatchObject({ status: 409, body: { code: "run_active" } });
    expect(await thread.events()).toHaveLength(before);
    model.allowed = 1;
    expect(await thread.ended(runId)).toMatchObject({ finish: "stop", text: "first" });
  });

  it("B10 [K3] fifty at once: fifty turns, none lost, none interleaved", async () => {
    const count = { workers: 0 };
    const model = new StrictModel(reply);
    const gate = new GatedModel(model);
    const thread = start("b10-stress", gate, [addWorker(count)]);
    await api.json("POST", "/v1/agents/b10-stress/threads", { id: "t1" });
    const names = Array.from({ length: B10.stress }, (_, index) => `message ${index}`);
    // Half of them wait behind a turn that stands still, half come while turns follow one another.
    const half = B10.stress / 2;
    const waiting = await Promise.all(names.slice(0, half).map((name) => thread.send(name)));
    const coming = names.slice(half).map((name) => thread.send(name));
    gate.open = true;
    const runIds = [...waiting, ...(await Promise.all(coming))];
    const runs = [];
    for (const runId of runIds) runs.push(await thread.ended(runId));
    expect(runs.map(({ text }) => text)).toEqual(names.map((name) => `answer to ${name}`));
    expect(count.workers).toBe(B10.stress);
    expect(model.requests).toHaveLength(2 * B10.stress);
    const events = await thread.events();
    expect(withoutRepeats(runsOf(events))).toHaveLength(B10.stress);
    expect(new Set(runsOf(events))).toEqual(new Set(runIds));
    expect(events.map(({ header }) => header.seq)).toEqual(events.map((_, index) => index + 1));
    expect(model.rejections).toEqual([]);
  });
});

describe("B12: one call of a round stalls and the process is killed", () => {
  it.each([
    { effect: "read", code: null, output: "late but here", runs: 2 },
    { effect: "idempotent", code: null, output: "late but here", runs: 2 },
    { effect: "once", code: "outcome_unknown", output: null, runs: 1 },
  ] as const)(
    "B12 [G9] finished siblings keep their results, a stalled $effect call follows its effect",
    async ({ effect, code, output, runs }) => {
      const count = { fast: 0, stall: 0 };
      const keys: string[] = [];
      const fast = defineTool({
        name: "fast",
        description: "Is quick.",
        version: "1",
        input: z.object({}),
        effect: "once",
        execute: () => {
          count.fast += 1;
          return `r${count.fast}`;
        },
      });
      const stall = defineTool({
        name: "stall",
        description: "Takes its time.",
        version: "1",
        input: z.object({}),
        effect: effect satisfies ToolEffect,
        limits: { timeoutMs: B12.stallMs },
        execute: async (_, { idempotencyKey }) => {
          keys.push(idempotencyKey);
          count.stall += 1;
          return count.stall === 1 ? new Promise<string>(() => undefined) : "late but here";
        },
      });
      const model = new StrictModel([B12.step, say("done")]);
      const thread = start(`b12-${effect}`, model, [fast, stall]);
      const runId = await thread.send("go");
      await api.until(async () => ((await thread.of("tool.finished")).length === 2 ? true : null));
      await abortAllDurableObjects();
      expect(await thread.ended(runId)).toMatchObject({ status: "completed", text: "done" });
      expect(count).toEqual({ fast: 2, stall: runs });
      expect(new Set(keys).size).toBe(1);
      expect(model.requests).toHaveLength(2);
      const results = lastResults(model.requests[1]);
      expect(results.map((result) => result.name)).toEqual(["fast", "stall", "fast"]);
      expect(results.map((result) => result.output)).toMatchObject([
        "r1",
        expect.any(String),
        "r2",
      ]);
      if (output !== null) expect(results[1]?.output).toBe(output);
      expect(results.some((result) => /no result/i.test(result.output))).toBe(false);
      const codes = (await thread.of("tool.finished")).map(
        ({ payload }) => (payload["result"] as { code: string | null }).code,
      );
      expect(codes.filter((each) => each !== null)).toEqual(code === null ? [] : [code]);
      expect(model.rejections).toEqual([]);
    },
  );
});

describe("B15: a client reconnects and resumes twice", () => {
  it("B15 [P2] every client ends with the stored text, each event once, and is told when it has caught up", async () => {
    const chunks = Array.from({ length: B15.total }, (_, index) => `${index} `);
    const model = new ChunkModel(chunks);
    const thread = start("b15", model);
    const sent = await api.json<{ runId: string; stream: string }>(
      "POST",
      `${thread.path}/messages`,
      {
        text: "talk",
      },
    );
    const { runId, stream } = sent.body;
    const client = await SseReader.open(api, stream);
    model.allowed = B15.beforeDrop;
    const shown = (count: number) => chunks.slice(0, count).join("");
    await client.until((reader) => shownText(reader.events).length >= shown(B15.beforeDrop).length);
    await client.drop();

    // Both at once, without waiting for either: the clock of a busy machine says nothing about their overlap.
    const opening = [1, 2].map(() => SseReader.open(api, stream, client.lastId));
    const resumed = await Promise.all(opening);
    // No live chunk follows: the model waits, and yet the marker comes.
    for (const reader of resumed)
      await reader.until(({ events }) => events.at(-1)?.event === "caught_up");
    model.allowed = B15.joinsAt;
    await resumed[0]?.until(
      ({ events }) => shownText([...client.events, ...events]).length >= shown(B15.joinsAt).length,
    );
    const second = await SseReader.open(api, stream);
    model.allowed = B15.total;

    const { text } = await thread.ended(runId);
    expect(text).toBe(shown(B15.total));
    const clients = [await second.toEnd()];
    for (const reader of resumed) clients.push([...client.events, ...(await reader.toEnd())]);
    for (const events of clients) {
      expect(shownText(events)).toBe(text);
      expect(typesOf(events).filter((type) => TERMINAL.has(type))).toEqual(["run.completed"]);
      expect(typesOf(events).at(-1)).toBe("run.completed");
      expect(seqFaults(events)).toEqual([]);
      const ids = events.filter(({ event }) => event !== "caught_up").map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    }
    expect(second.events.filter(({ event }) => event === "caught_up")).toHaveLength(1);
    for (const { events } of resumed)
      expect(events.filter(({ event }) => event === "caught_up")).toHaveLength(1);
    expect(model.calls).toBe(1);
  });
});

describe("B15: the same over sockets", () => {
  it("B15 [P27] [P28] a resume that is asked for twice streams once, and a second client joins in the middle", async () => {
    const chunks = Array.from({ length: B15.total }, (_, index) => `${index} `);
    const model = new ChunkModel(chunks);
    const thread = start("b15-socket", model);
    const shown = (count: number) => chunks.slice(0, count).join("");
    const first = await SocketClient.open(api, "b15-socket", "t1");
    first.ask("r1", "talk");
    model.allowed = B15.beforeDrop;
    await until(() => first.text("r1") === shown(B15.beforeDrop));
    first.close();

    const again = await SocketClient.open(api, "b15-socket", "t1");
    const offered = (client: SocketClient) => client.of("cf_agent_stream_resuming");
    await until(() => offered(again).length === 1);
    const id = String(offered(again)[0]?.["id"]);
    for (const probeId of ["p1", "p2"])
      again.send({ type: "cf_agent_stream_resume_request", probeId });
    again.send({ type: "cf_agent_stream_resume_ack", id });
    // No live chunk follows: the model waits, and yet the end of the replay is told.
    await until(() => again.stream(id).some((frame) => frame["replayComplete"] === true));
    expect(again.text(id)).toBe(shown(B15.beforeDrop));
    expect(offered(again).map((frame) => frame["id"])).toEqual([id, id, id]);
    model.allowed = B15.joinsAt;
    await until(() => again.text(id) === shown(B15.joinsAt));
    const second = await SocketClient.open(api, "b15-socket", "t1");
    await until(() => offered(second).length === 1);
    second.send({ type: "cf_agent_stream_resume_ack", id });
    await until(() => second.text(id) === shown(B15.joinsAt));
    model.allowed = B15.total;
    for (const client of [again, second]) {
      await until(() => client.stream(id).some((frame) => frame["done"] === true));
      expect(client.text(id)).toBe(shown(B15.total));
      expect(client.stream(id).filter((frame) => frame["done"] === true)).toHaveLength(1);
      expect(client.stream(id).filter((f) => f["replayComplete"] === true)).toHaveLength(1);
      client.close();
    }
    const [answered] = await thread.of("model.answered");
    expect(JSON.stringify(answered?.payload["parts"])).toContain(shown(B15.total));
    expect(model.calls).toBe(1);
  });
});

describe("B16: payloads larger than a row", () => {
  it("B16 [L8][T4] whole results are readable after a restart, byte for byte, and the model sees a bounded preview", async () => {
    const cap = 2_048;
    const results = B16.resultBytes.map((bytes) => B16.character.repeat(Math.ceil(bytes / 3)));
    const dump = defineTool({
      name: "dump",
      description: "Answers a lot.",
      version: "1",
      input: z.object({ index: z.number() }),
      effect: "read",
      limits: { maxResultBytes: cap },
      execute: ({ index }) => results[index] ?? "",
    });
    const model = new StrictModel([
      ...results.map((_, index) => ask(["dump", { index }])),
      say("done"),
      say("next"),
    ]);
    const thread = start("b16", model, [dump]);
    expect(await thread.ask("dump")).toMatchObject({ status: "completed", finish: "stop" });
    await abortAllDurableObjects();

    const hasher = new NodeHasher();
    const finished = await thread.of("tool.finished");
    expect(finished).toHaveLength(results.length);
    for (const [index, { payload }] of finished.entries()) {
      const whole = utf8(results[index] ?? "");
      const result = payload["result"] as { bytes: number; handle: string; output: string };
      expect(result.bytes).toBe(whole.byteLength);
      expect(whole.byteLength).toBeGreaterThanOrEqual(B16.resultBytes[index] ?? Infinity);
      const stored = await thread.file(result.handle);
      expect(hasher.sha256(stored ?? new Uint8Array())).toBe(hasher.sha256(whole));
      const [shown] = lastResults(model.requests[index + 1]);
      expect(utf8(shown?.output ?? "").byteLength).toBeLessThanOrEqual(cap);
      expect(shown?.output).toContain(result.handle);
    }
    expect(await thread.chainFault()).toBeNull();
    expect(await thread.ask("and now?")).toMatchObject({ finish: "stop", text: "next" });
    expect(model.rejections).toEqual([]);
  });

  it("B16 [L8] a state that is too large is refused, and the one before stays readable over a restart", async () => {
    const thread = start("b16-state", new StrictModel([say("hello")]));
    await thread.ask("hi");
    const state = { note: B16.character };
    const put = (value: object) =>
      api.fetch("PUT", `${thread.path}/state`, {
        body: JSON.stringify(value),
        headers: { "content-type": "application/json" },
      });
    expect((await put(state)).status).toBe(200);
    const before = await thread.events();
    // Beyond the body's limit, and beyond the state's own within it.
    for (const bytes of [B16.stateBytes, 600_000]) {
      const refused = await put({ note: B16.character.repeat(Math.ceil(bytes / 3)) });
      expect(refused.status).toBe(413);
      expect(await refused.json()).toMatchObject({ code: "state_too_large" });
    }
    await abortAllDurableObjects();
    expect(await api.json("GET", `${thread.path}/state`)).toMatchObject({
      status: 200,
      body: state,
    });
    expect(await thread.events()).toEqual(before);
    expect(await thread.chainFault()).toBeNull();
  });
});
