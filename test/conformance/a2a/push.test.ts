/** Push notifications of A2A: what a receiver is posted, and what becomes of it where the receiver is away or inside. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { request, type Answer } from "../../support/a2a-client.ts";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import type { Json, JsonObject } from "#shared/json.ts";

let server: BundledServer;
beforeAll(async () => {
  server = await startBundled();
});
afterAll(() => server.dispose());

interface Posted {
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: JsonObject;
}
const receivers: Server[] = [];
afterEach(() => {
  for (const receiver of receivers.splice(0)) {
    receiver.closeAllConnections();
    receiver.close();
  }
});

/** Answers each request with the next status, and the last one from then on. */
async function receive(...statuses: readonly number[]) {
  const posted: Posted[] = [];
  const receiver = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as JsonObject;
      posted.push({ headers: incoming.headers, body });
      response.writeHead(statuses[posted.length - 1] ?? statuses.at(-1) ?? 200).end();
    });
  });
  receivers.push(receiver);
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  // Listening on a port of an interface, it has an address of this form.
  const { port } = receiver.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook?q=1`, posted };
}

const PATH = "/a2a/obeys";
const send = (text: string, more: JsonObject = {}, configuration: JsonObject = {}) =>
  request(server, `${PATH}/message:send`, {
    method: "POST",
    body: {
      message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more },
      configuration,
    },
  });
const idOf = ({ body }: Answer): string => String((body["task"] as JsonObject | undefined)?.["id"]);
const stateOf = ({ body }: Posted): Json | undefined => {
  const { status } = body["task"] as { readonly status: JsonObject };
  return status["state"];
};
const states = (posted: readonly Posted[]) => posted.map(stateOf);
const put = (task: string, config: JsonObject) =>
  request(server, `${PATH}/tasks/${task}/pushNotificationConfigs`, {
    method: "POST",
    body: config,
  });

describe("a receiver", () => {
  it("[P98] is told each change of state once, in order, with what it needs to know that it is us", async () => {
    const { url, posted } = await receive(200);
    const taskPushNotificationConfig = {
      url,
      token: "token-1",
      authentication: { scheme: "Bearer", credentials: "secret-1" },
    };
    const waiting = await send('call refund {"order":1}', {}, { taskPushNotificationConfig });
    await expect
      .poll(() => states(posted), { timeout: 20_000 })
      .toEqual(["TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"]);
    const task = idOf(waiting);
    await send("yes", { taskId: task });
    await expect
      .poll(() => states(posted), { timeout: 20_000 })
      .toEqual([
        "TASK_STATE_WORKING",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
      ]);
    expect(posted.at(-1)).toMatchObject({
      headers: {
        "content-type": "application/a2a+json",
        "a2a-version": "1.0",
        "x-a2a-notification-token": "token-1",
        authorization: "Bearer secret-1",
      },
      body: { task: { id: task, artifacts: [{ parts: [{ text: "got refunded 1" }] }] } },
    });
    expect(new Set(posted.map(({ headers }) => headers["webhook-id"])).size).toBe(4);
  });

  it("[P98] that is away is told again under the same id, and what follows comes after it", async () => {
    const { url, posted } = await receive(500, 200);
    await send("say hello", {}, { taskPushNotificationConfig: { url } });
    await expect.poll(() => posted.length, { timeout: 30_000 }).toBe(3);
    const [first, again, last] = posted;
    expect(first?.headers["webhook-id"]).toBe(again?.headers["webhook-id"]);
    expect(first?.body).toEqual(again?.body);
    expect(stateOf(last!)).toBe("TASK_STATE_COMPLETED");
    expect(last?.headers["webhook-id"]).not.toBe(again?.headers["webhook-id"]);
  });

  it("[P98] that redirects is not followed, and one that is gone is not asked again", async () => {
    const inside = await receive(200);
    const { url, posted } = await receive(410);
    const moved = createServer((_incoming, response) =>
      response.writeHead(307, { location: inside.url }).end(),
    );
    receivers.push(moved);
    await new Promise<void>((resolve) => moved.listen(0, "127.0.0.1", resolve));
    const { port } = moved.address() as AddressInfo;
    for (const to of [url, `http://127.0.0.1:${port}/`])
      await send("say hello", {}, { taskPushNotificationConfig: { url: to } });
    const sound = await receive(200);
    await send("say hello", {}, { taskPushNotificationConfig: { url: sound.url } });
    await expect.poll(() => sound.posted.length, { timeout: 20_000 }).toBe(2);
    expect(posted).toHaveLength(1);
    expect(inside.posted).toEqual([]);
  });
});

describe("configs of a task", () => {
  it("[P98][P99] are put, read, listed and deleted, and never say their secrets again", async () => {
    const { url } = await receive(200);
    const task = idOf(await send('call refund {"order":1}'));
    const created = await put(task, {
      url,
      token: "token-2",
      authentication: { scheme: "Basic", credentials: "c2VjcmV0LTI=" },
    });
    expect(created).toMatchObject({
      status: 200,
      body: { taskId: task, url, authentication: { scheme: "Basic" } },
    });
    await put(task, { url, id: "mine" });
    await put(task, { url, id: "mine" });
    const list = await request(server, `${PATH}/tasks/${task}/pushNotificationConfigs`);
    expect(list.body["configs"]).toHaveLength(2);
    const one = `${PATH}/tasks/${task}/pushNotificationConfigs/${String(created.body["id"])}`;
    const got = await request(server, one);
    expect(got.body).toEqual(created.body);
    for (const { body } of [created, list, got]) {
      expect(JSON.stringify(body)).not.toContain("token-2");
      expect(JSON.stringify(body)).not.toContain("c2VjcmV0LTI=");
    }
    expect((await request(server, one, { method: "DELETE" })).status).toBe(200);
    expect((await request(server, one, { method: "DELETE" })).status).toBe(200);
    expect((await request(server, one)).status).toBe(404);
  });

  it("[P99] are refused where their address is inside, and then no message is taken", async () => {
    const urls = [
      "http://example.com/",
      "https://169.254.169.254/latest/",
      "https://2852039166/",
      "https://[::ffff:10.0.0.1]/",
      "https://metadata.google.internal/",
      "https://user:hush-1@example.com/",
      "ftp://127.0.0.1/",
    ];
    const task = idOf(await send('call refund {"order":1}'));
    for (const url of urls) {
      const refused = await put(task, { url });
      expect(refused).toMatchObject({
        status: 400,
        body: { error: { status: "INVALID_ARGUMENT" } },
      });
      expect(JSON.stringify(refused.body)).not.toContain("hush-1");
      const contextId = `ctx-${crypto.randomUUID()}`;
      const sent = await send("say no", { contextId }, { taskPushNotificationConfig: { url } });
      expect(sent.status).toBe(400);
      const thread = await request(server, `/v1/agents/obeys/threads/${contextId}`);
      expect(thread.status).toBe(404);
    }
    const split = await put(task, { url: "https://example.com/", token: "a\r\nx-b: c" });
    expect(split.status).toBe(400);
  });

  it("[P99] go with the erasure of their run", async () => {
    const { url, posted } = await receive(503);
    const task = idOf(
      await send("say hello", {}, { taskPushNotificationConfig: { url, token: "token-3" } }),
    );
    await expect.poll(() => posted.length, { timeout: 20_000 }).toBeGreaterThan(0);
    const [thread, run] = task.split(".");
    const erased = await request(server, `/v1/agents/obeys/threads/${thread}/runs/${run}/erase`, {
      method: "POST",
      body: {},
    });
    expect(erased.status).toBeLessThan(300);
    const list = await request(server, `${PATH}/tasks/${task}/pushNotificationConfigs`);
    expect(list.body["configs"]).toEqual([]);
  });
});
