/** A2A through the published client, over both bindings: send, stream, resubscribe, cancel, list, cards. */
import { TaskState, verifyAgentCardSignature, type AgentCard, type Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  a2aClient,
  BINDINGS,
  Follower,
  request,
  textOf,
  toRequest,
} from "../../support/a2a-client.ts";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;
beforeAll(async () => {
  server = await startBundled();
});
afterAll(() => server.dispose());

const asTask = (result: object): Task => {
  expect(result).toHaveProperty("status");
  // A message has no status.
  return result as Task;
};
const answerOf = ({ artifacts }: Task): string =>
  textOf(artifacts.find(({ artifactId }) => artifactId === "answer")?.parts ?? []);

describe.each(BINDINGS)("@a2a-js/sdk over %s", (binding) => {
  let client: Client;
  beforeAll(async () => {
    client = await a2aClient(server, binding);
  });
  const send = async (...of: Parameters<typeof toRequest>): Promise<Task> =>
    asTask(await client.sendMessage(toRequest(...of)));

  it("[P90][P91] a message is answered with its task, which is a run of the thread that its context is", async () => {
    const task = await send("say hello");
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(answerOf(task)).toBe("hello");
    expect(task.history.map(({ parts }) => textOf(parts))).toEqual(["say hello"]);
    const [thread, run] = task.id.split(".");
    expect(task.contextId).toBe(thread);
    const { body } = await request(server, `/v1/agents/obeys/threads/${thread}/runs/${run}`);
    expect(body).toMatchObject({ runId: run, status: "completed", text: "hello" });
    const again = await send("say more", { contextId: task.contextId });
    expect(again.contextId).toBe(task.contextId);
    expect(again.id).not.toBe(task.id);
    expect(await client.getTask({ tenant: "", id: task.id, historyLength: 0 })).toMatchObject({
      id: task.id,
      history: [],
    });
  });

  it("[P92] the same message again meets the task it made", async () => {
    const messageId = crypto.randomUUID();
    const task = await send("say once", { messageId });
    expect(await send("say once", { messageId })).toEqual(task);
    const list = await client.listTasks({
      ...EVERY,
      contextId: task.contextId,
    });
    expect(list.totalSize).toBe(1);
  });

  it("[P94][P95] a stream begins with the task, adds up to the answer and ends with the task", async () => {
    const follower = new Follower();
    for await (const update of client.sendMessageStream(toRequest("slow 5"))) follower.take(update);
    expect(follower.states[0]).toMatch(/^task /);
    expect(follower.states.at(-1)).toBe(String(TaskState.TASK_STATE_COMPLETED));
    const text = "w1 w2 w3 w4 w5 ";
    expect(follower.texts.get("answer")).toBe(text);
    const task = await client.getTask({ tenant: "", id: follower.task?.id ?? "" });
    expect(answerOf(task)).toBe(text);
  });

  it("[P95] who left in mid-stream resubscribes: the task as it stands, then what follows, nothing twice", async () => {
    const first = new Follower();
    for await (const update of client.sendMessageStream(toRequest("slow 30"))) {
      first.take(update);
      if (first.texts.has("answer")) break;
    }
    const second = new Follower();
    const id = first.task?.id ?? "";
    for await (const update of client.resubscribeTask({ tenant: "", id })) second.take(update);
    expect(second.states[0]).toBe(`task ${TaskState.TASK_STATE_WORKING}`);
    expect(second.states.at(-1)).toBe(String(TaskState.TASK_STATE_COMPLETED));
    const words = Array.from({ length: 30 }, (_, at) => `w${at + 1} `).join("");
    expect(second.texts.get("answer")).toBe(words);
  });

  it("[P93] an approval waits as input-required; a yes on the task goes on with the same task", async () => {
    const waiting = await send('call refund {"order":7}');
    expect(waiting.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(textOf(waiting.status?.message?.parts.slice(0, 1) ?? [])).toBe(
      'May refund run with {"order":7}?',
    );
    const place = { taskId: waiting.id, contextId: waiting.contextId };
    const messageId = crypto.randomUUID();
    const done = await send("yes", { ...place, messageId });
    expect(done).toMatchObject({ id: waiting.id, contextId: waiting.contextId });
    expect(answerOf(done)).toBe("got refunded 7");
    // A client that lost the answer sends it again; the task has ended, and its message is known.
    expect(await send("yes", { ...place, messageId })).toEqual(done);
    await expect(send("yes", place)).rejects.toMatchObject({ name: "UnsupportedOperationError" });
  });

  it("[P93] what is no clear yes runs nothing: it is a message to the agent", async () => {
    const waiting = await send('call refund {"order":8}');
    const done = await send("say never mind", { taskId: waiting.id });
    expect(done.id).toBe(waiting.id);
    expect(answerOf(done)).toBe("never mind");
    const denied = await send('call refund {"order":9}');
    expect(answerOf(await send("no", { taskId: denied.id }))).toContain("denied");
  });

  it("[P95] a message's stream ends where the task waits; a subscription goes on to its end", async () => {
    const opened = new Follower();
    for await (const update of client.sendMessageStream(toRequest('call refund {"order":3}')))
      opened.take(update);
    expect(opened.states.at(-1)).toMatch(
      new RegExp(`^(task )?${TaskState.TASK_STATE_INPUT_REQUIRED}$`),
    );
    const id = opened.task?.id ?? "";
    const follower = new Follower();
    for await (const update of client.resubscribeTask({ tenant: "", id })) {
      follower.take(update);
      if (follower.states.length === 1) await send("yes", { taskId: id });
    }
    expect(follower.states).toEqual([
      `task ${TaskState.TASK_STATE_INPUT_REQUIRED}`,
      String(TaskState.TASK_STATE_WORKING),
      String(TaskState.TASK_STATE_COMPLETED),
    ]);
    expect(follower.texts.get("answer")).toBe("got refunded 3");
  });

  it("[P91] cancelling ends the task; one that has ended is not cancelled", async () => {
    const task = await send("slow 500", {}, { returnImmediately: true });
    expect([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING]).toContain(
      task.status?.state,
    );
    const cancelled = await client.cancelTask({ tenant: "", id: task.id, metadata: undefined });
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(
      client.cancelTask({ tenant: "", id: task.id, metadata: undefined }),
    ).rejects.toMatchObject({ name: "TaskNotCancelableError" });
  });

  it("[P97] lists pages of a context, newest change first, and by state", async () => {
    const { contextId } = await send("say 1");
    for (const text of ["say 2", "say 3", 'call refund {"order":1}'])
      await send(text, { contextId });
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await client.listTasks({ ...EVERY, contextId, pageSize: 3, pageToken });
      expect(page.totalSize).toBe(4);
      expect(page.tasks.every(({ artifacts }) => artifacts.length === 0)).toBe(true);
      seen.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(new Set(seen).size).toBe(4);
    const waiting = await client.listTasks({
      ...EVERY,
      contextId,
      status: TaskState.TASK_STATE_INPUT_REQUIRED,
    });
    expect(waiting.tasks.map(({ id }) => id)).toEqual(seen.slice(0, 1));
    const full = await client.listTasks({
      ...EVERY,
      contextId,
      status: TaskState.TASK_STATE_COMPLETED,
      includeArtifacts: true,
    });
    expect(full.tasks.map(answerOf)).toEqual(["3", "2", "1"]);
  });

  it("[P97] over all contexts the index of runs answers", async () => {
    const task = await send("say indexed");
    await expect
      .poll(
        async () => {
          const { tasks } = await client.listTasks({ ...EVERY, pageSize: 100 });
          return tasks.find(({ id }) => id === task.id)?.status?.state;
        },
        { timeout: 20_000 },
      )
      .toBe(TaskState.TASK_STATE_COMPLETED);
  });
});

describe("cards", () => {
  it("[P96] are signed with a published key, and say no more in public than in their extended form", async () => {
    const { body: keySet } = await request(server, "/.well-known/jwks.json");
    const verify = verifyAgentCardSignature(async (kid, jku) => {
      expect(jku).toBe(`${server.url}/.well-known/jwks.json`);
      const keys = keySet["keys"] as unknown as readonly (JsonWebKey & { kid: string })[];
      const key = keys.find((each) => each.kid === kid);
      if (key === undefined) throw new Error("no such key");
      return key;
    });
    const { body } = await request(server, "/a2a/obeys/extendedAgentCard");
    // As it was sent: of a card that it has read already, version 1.3.0 of the package leaves the security schemes out.
    const card = body as unknown as AgentCard;
    expect(card.signatures).toHaveLength(1);
    await verify(card);
    for (const forged of [{ description: "another" }, { securitySchemes: {} }])
      await expect(verify({ ...card, ...forged })).rejects.toThrow();
    expect(card.skills.map(({ id }) => id)).toContain("tool:refund");
    const open = await fetch(`${server.url}/a2a/obeys/.well-known/agent-card.json`);
    expect(open.headers.get("cache-control")).toContain("max-age");
    const modified = Date.parse(open.headers.get("last-modified") ?? "");
    expect(modified).toBeGreaterThan(0);
    expect(modified).toBeLessThanOrEqual(Date.now());
    const etag = open.headers.get("etag") ?? "";
    const published = await open.json<{ skills: readonly { id: string }[] }>();
    expect(published.skills.map(({ id }) => id)).toEqual(["obeys"]);
    const cached = await fetch(`${server.url}/a2a/obeys/.well-known/agent-card.json`, {
      headers: { "if-none-match": etag },
    });
    expect(cached.status).toBe(304);
    expect((await fetch(`${server.url}/.well-known/agent-card.json`)).status).toBe(200);
    expect((await fetch(`${server.url}/a2a/obeys/extendedAgentCard`)).status).toBe(401);
  });
});

const EVERY = {
  tenant: "",
  contextId: "",
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: "",
  statusTimestampAfter: undefined,
};
