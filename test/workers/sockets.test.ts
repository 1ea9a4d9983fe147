/** Sockets inside workerd: what outlives hibernation, and what is left of a run when it is over. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import { toObjectName, trusted } from "#shared/ids.ts";
import { Api, threadPath } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { say, ScriptModel } from "../support/scripted-model.ts";

interface Bindings {
  readonly AGENT: DurableObjectNamespace;
}
let api: Api;

beforeAll(async () => {
  api = await Api.service("acme");
  deploy(
    defineAgent({
      name: "talker",
      description: "Talks.",
      instructions: "Talk.",
      model: "test/talker",
      tools: [],
      // Nobody knows what the route of a test costs, and a cap in money would refuse its calls (B23).
      limits: { maxCostMicros: null },
    }),
  );
});
afterEach(() => lab.models.clear());

interface Client {
  readonly socket: WebSocket;
  readonly frames: { readonly type: string; readonly [field: string]: unknown }[];
  readonly closed: number[];
}

async function connect(thread: string): Promise<Client> {
  const worker = exports as unknown as {
    readonly default: { fetch(url: string, init: RequestInit): Promise<Response> };
  };
  const response = await worker.default.fetch(`https://holdfast.test/agents/talker/${thread}`, {
    headers: { upgrade: "websocket", authorization: `Bearer ${api.key}` },
  });
  const socket = response.webSocket;
  if (socket === null) throw new Error(`${response.status}: ${await response.text()}`);
  const client: Client = { socket, frames: [], closed: [] };
  socket.addEventListener("message", ({ data }) => {
    client.frames.push(JSON.parse(String(data)));
  });
  socket.addEventListener("close", ({ code }) => {
    client.closed.push(code);
  });
  socket.accept();
  return client;
}
function stubOf(thread: string): DurableObjectStub {
  const { AGENT } = env as unknown as Bindings;
  const address = { tenant: "acme", agent: "talker", thread };
  const name = toObjectName({
    tenant: trusted(address.tenant),
    agent: trusted(address.agent),
    thread: trusted(address.thread),
  });
  return AGENT.get(AGENT.idFromName(name));
}
const done = ({ frames }: Client): Promise<true> =>
  api.until(async () => (frames.some((frame) => frame["done"] === true) ? true : null));

describe("sockets of a thread", () => {
  it("[P35] leave no timer once the run is over, and are served after hibernation", async () => {
    const thread = "sleepy";
    lab.models.set("test/talker", new ScriptModel([say("one"), say("two")]));
    const client = await connect(thread);
    await api.send(threadPath("talker", thread), "hi");
    await done(client);
    await api.until(() =>
      runInDurableObject(stubOf(thread), async (_instance, state) =>
        (await state.storage.getAlarm()) === null ? true : null,
      ),
    );
    await evictDurableObject(stubOf(thread));
    client.frames.length = 0;
    client.socket.send(JSON.stringify({ type: "cf_agent_stream_resume_request", probeId: "p" }));
    await api.until(async () => (client.frames.length > 0 ? true : null));
    expect(client.frames).toEqual([
      { type: "cf_agent_stream_resume_none", reason: "idle", probeId: "p" },
    ]);
    client.frames.length = 0;
    await api.send(threadPath("talker", thread), "again");
    await done(client);
    const text = client.frames.map(({ body }) => String(body ?? "")).join("");
    expect(text).toContain('"delta":"two"');
    expect(text).not.toContain('"delta":"one"');
    client.socket.close();
  });

  it("[P27] end the stream of a discarded attempt, and stream the next one from its beginning", async () => {
    const model = new ScriptModel(
      [
        [{ text: "par" }, { hold: true }, { error: "unavailable" }],
        [{ text: "whole" }, { hang: true }],
      ],
      { by: "call" },
    );
    lab.models.set("test/talker", model);
    const client = await connect("twice");
    const body = JSON.stringify({
      messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "hi" }] }],
    });
    client.socket.send(
      JSON.stringify({ type: "cf_agent_use_chat_request", id: "r1", init: { body } }),
    );
    const has = (wanted: string): Promise<true> =>
      api.until(async () => (JSON.stringify(client.frames).includes(wanted) ? true : null));
    await has("par");
    model.release();
    await has("cf_agent_stream_resuming");
    const first = client.frames.filter(({ id }) => id === "r1");
    expect(first.at(-1)).toMatchObject({ done: true, outcome: "recovering" });
    const id = client.frames.find(({ type }) => type === "cf_agent_stream_resuming")?.["id"];
    client.socket.send(JSON.stringify({ type: "cf_agent_stream_resume_ack", id }));
    await has("whole");
    client.socket.send(JSON.stringify({ type: "cf_agent_chat_request_cancel", id }));
    await has('"outcome":"aborted"');
    const second = client.frames.filter((frame) => frame["id"] === id && "body" in frame);
    const text = second.map((frame) => String(frame["body"])).join("");
    expect(text).toContain("whole");
    expect(text).not.toContain("par");
    expect(second.at(-1)).toMatchObject({ done: true, outcome: "aborted" });
    expect(client.frames.filter((frame) => frame["id"] === "r1" && frame["done"])).toHaveLength(1);
    client.socket.close();
  });

  it("[P24] know what was said before them, beside them, and on another branch", async () => {
    const thread = "known";
    const path = threadPath("talker", thread);
    const answers = Array.from({ length: 6 }, (_, index) => say(`answer ${index}`));
    lab.models.set("test/talker", new ScriptModel(answers, { by: "call" }));
    const user = (id: string, text: string): object => ({
      id,
      role: "user",
      parts: [{ type: "text", text }],
    });
    await api.ended(path, await api.send(path, "before", { messageId: "m1" }));
    const client = await connect(thread);
    await api.ended(path, await api.send(path, "beside", { messageId: "m2" }));
    let requests = 0;
    const chat = async (...messages: object[]): Promise<void> => {
      const id = `r${(requests += 1)}`;
      const body = JSON.stringify({ messages });
      client.socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { body } }));
      await api.until(async () =>
        client.frames.some((frame) => frame["id"] === id && frame["done"] === true) ? true : null,
      );
    };
    const said = async (): Promise<readonly string[]> => {
      const page = await api.json<{ items: { role: string; content: { text: string }[] }[] }>(
        "GET",
        `${path}/messages?branch=all&limit=100`,
      );
      return page.body.items
        .filter(({ role }) => role === "user")
        .map(({ content }) => content.map(({ text }) => text).join(""));
    };
    await chat(user("m1", "before"), user("m2", "beside"), user("m3", "new"));
    expect(await said()).toEqual(["before", "beside", "new"]);
    // Said again it is the same message; said otherwise it is an edit, which leaves the branch that held what followed.
    await chat(user("m3", "new"));
    expect(await said()).toEqual(["before", "beside", "new"]);
    await chat(user("m2", "otherwise"));
    expect(await said()).toEqual(["before", "beside", "new", "otherwise"]);
    await chat(user("m1", "before"), user("m4", "last"));
    expect(await said()).toEqual(["before", "beside", "new", "otherwise", "last"]);
    client.socket.close();
  });

  it("[P36] lose their authority after an hour", async () => {
    const client = await connect("old");
    lab.clock.advance(3_600_001);
    client.socket.send(JSON.stringify({ type: "cf_agent_stream_resume_request" }));
    await api.until(async () => (client.closed.length > 0 ? true : null));
    expect(client.closed).toEqual([1012]);
  });
});
