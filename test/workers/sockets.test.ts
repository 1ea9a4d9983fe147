/** Sockets inside workerd: what outlives hibernation, and what is left of a run when it is over. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { toObjectName, trusted } from "#shared/ids.ts";
import { utf8 } from "#shared/json.ts";
import { Api, threadPath } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { say, ScriptModel } from "../support/scripted-model.ts";
import { SocketClient } from "../support/socket-client.ts";

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

const hashOf = ({ key }: Api): string => new NodeHasher().sha256(utf8(key));
async function revoke(own: Api): Promise<void> {
  const { DB } = env as unknown as { readonly DB: D1Database };
  await DB.prepare("UPDATE api_keys SET revoked_at = 1 WHERE hash = ?").bind(hashOf(own)).run();
}

const connect = (thread: string, by: Pick<Api, "key"> = api): Promise<SocketClient> =>
  SocketClient.open(by, "talker", thread);
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
const done = ({ frames }: SocketClient): Promise<true> =>
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
    client.send({ type: "cf_agent_stream_resume_request", probeId: "p" });
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
    client.close();
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
    client.send({ type: "cf_agent_use_chat_request", id: "r1", init: { body } });
    const has = (wanted: string): Promise<true> =>
      api.until(async () => (JSON.stringify(client.frames).includes(wanted) ? true : null));
    await has("par");
    model.release();
    await has("cf_agent_stream_resuming");
    const first = client.frames.filter(({ id }) => id === "r1");
    expect(first.at(-1)).toMatchObject({ done: true, outcome: "recovering" });
    const id = client.frames.find(({ type }) => type === "cf_agent_stream_resuming")?.["id"];
    client.send({ type: "cf_agent_stream_resume_ack", id });
    await has("whole");
    client.send({ type: "cf_agent_chat_request_cancel", id });
    await has('"outcome":"aborted"');
    const second = client.frames.filter((frame) => frame["id"] === id && "body" in frame);
    const text = second.map((frame) => String(frame["body"])).join("");
    expect(text).toContain("whole");
    expect(text).not.toContain("par");
    expect(second.at(-1)).toMatchObject({ done: true, outcome: "aborted" });
    expect(client.frames.filter((frame) => frame["id"] === "r1" && frame["done"])).toHaveLength(1);
    client.close();
  });

  it("[P37] hear and tell nothing more once their key is revoked", async () => {
    const own = await Api.service("acme");
    const [heard, told] = [await connect("revoked", own), await connect("revoked", own)];
    const resume = { type: "cf_agent_stream_resume_request" };
    heard.send(resume);
    await api.until(async () => (heard.frames.at(-1)?.type.endsWith("none") ? true : null));
    lab.models.set("test/talker", new ScriptModel([say("secret")]));
    heard.frames.length = 0;
    told.frames.length = 0;
    await revoke(own);
    lab.clock.advance(60_000);
    heard.send(resume);
    await api.until(async () => (heard.closed.length > 0 ? true : null));
    await api.send(threadPath("talker", "revoked"), "hi");
    await api.until(async () => (told.closed.length > 0 ? true : null));
    expect([heard.closed, told.closed]).toEqual([[1008], [1008]]);
    expect([heard.frames, told.frames]).toEqual([[], []]);
  });

  it("[P37] end with the token that opened them, and are asked to come back", async () => {
    const path = "/v1/tokens";
    const request = { user: "ada", ttlSeconds: 3_600 };
    const minted = await api.json<{ token: string; expiresAt: number }>("POST", path, request);
    const { expiresAt } = minted.body;
    const client = await connect("short", { key: minted.body.token });
    lab.clock.advance(expiresAt - 1_000 - lab.clock.now());
    client.send({ type: "cf_agent_stream_resume_request" });
    await api.until(async () => (client.frames.at(-1)?.type.endsWith("none") ? true : null));
    lab.clock.advance(1_000);
    client.send({ type: "cf_agent_stream_resume_request" });
    await api.until(async () => (client.closed.length > 0 ? true : null));
    expect(client.closed).toEqual([1012]);
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
      client.send({ type: "cf_agent_use_chat_request", id, init: { body } });
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
    client.close();
  });

  it("[P36] lose their authority after an hour", async () => {
    const client = await connect("old");
    lab.clock.advance(3_600_001);
    client.send({ type: "cf_agent_stream_resume_request" });
    await api.until(async () => (client.closed.length > 0 ? true : null));
    expect(client.closed).toEqual([1012]);
  });
});
