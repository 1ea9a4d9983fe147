/** Handed cases over A2A, both bindings: subscriptions to tasks that wait, foreign ids, streams of others. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import type { Model } from "#ports/model.ts";
import type { JsonObject } from "#shared/json.ts";
import { askHuman } from "#tools/ask-human.ts";
import {
  BINDINGS,
  callA2a,
  NOT_FOUND,
  stateOf,
  Subscription,
  UNSUPPORTED,
  type Binding,
  type Operation,
  type TaskView,
} from "../support/a2a-wire.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask, say, ScriptModel } from "../support/scripted-model.ts";
import { lastResults, StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

const AGENT = "a1";

let t1: Api;
let t2: Api;
let u1: Api;
let u2: Api;
beforeAll(async () => {
  [t1, t2] = [await Api.service("t1"), await Api.service("t2")];
  [u1, u2] = [await t1.user("u1"), await t1.user("u2")];
});
afterEach(() => {
  lab.models.clear();
  vi.restoreAllMocks();
});

function install(model: Model, name = AGENT): void {
  const route = `test/a2a-${name}`;
  const words = { description: "Helps.", instructions: "Help." };
  deploy(defineAgent({ name, ...words, model: route, tools: [askHuman] }));
  lab.models.set(route, model);
}

type Action = Omit<Operation, "agent"> & { readonly agent?: string };
const call = (api: Api, binding: Binding, action: Action) =>
  callA2a(api, binding, { agent: AGENT, ...action });
const subscribe = (
  api: Api,
  binding: Binding,
  task: { readonly id: string; readonly agent?: string },
) => Subscription.to(api, binding, { ...task, agent: task.agent ?? AGENT });

async function send(
  api: Api,
  binding: Binding,
  {
    text,
    configuration = {},
    agent = AGENT,
    ...more
  }: { text: string; configuration?: JsonObject; agent?: string; taskId?: string },
): Promise<TaskView> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
  const params = { message, configuration };
  const { body } = await call(api, binding, { method: "SendMessage", params, agent });
  expect(body).toHaveProperty("task");
  return body["task"] as unknown as TaskView;
}

describe.each(BINDINGS)("G01 over %s", (binding) => {
  it("G01 [P91] [P93] [P95] a task that waits for input is subscribed to, before and after a restart, and goes on as itself", async () => {
    install(
      new StrictModel((request) => {
        const [answer] = lastResults(request);
        if (answer === undefined) return ask(["ask_human", { question: "Which one?" }]);
        return say(`you said ${answer.output}`);
      }),
    );
    const t1Task = await send(t1, binding, { text: "choose" });
    expect(t1Task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const first = await subscribe(t1, binding, t1Task);
    expect(first.response.headers.get("content-type")).toContain("text/event-stream");
    expect(await first.next()).toMatchObject({
      task: { id: t1Task.id, status: { state: "TASK_STATE_INPUT_REQUIRED" } },
    });
    await first.leave();

    await abortAllDurableObjects();
    const second = await subscribe(t1, binding, t1Task);
    expect(await second.next()).toMatchObject({
      task: { id: t1Task.id, status: { state: "TASK_STATE_INPUT_REQUIRED" } },
    });

    // The stream is open still: it tells what the answer brings, and closes with the task.
    const done = await send(t1, binding, { text: "the left", taskId: t1Task.id });
    expect(done).toMatchObject({ id: t1Task.id, contextId: t1Task.contextId });
    expect(done.status.state).toBe("TASK_STATE_COMPLETED");
    const told = await second.rest();
    expect(told.map(stateOf).filter((state) => state !== undefined)).toEqual([
      "TASK_STATE_WORKING",
      "TASK_STATE_COMPLETED",
    ]);
    expect(JSON.stringify(told)).toContain("you said the left");

    const id = t1Task.id;
    const ended = await call(t1, binding, { method: "SubscribeToTask", params: { id } });
    expect(ended).toMatchObject({ code: UNSUPPORTED });
    expect(ended.type).toContain("application/json");
    for (const unknown of ["nothing", "thr_1.run_1", `${t1Task.contextId}.run_1`]) {
      const missing = await call(t1, binding, {
        method: "SubscribeToTask",
        params: { id: unknown },
      });
      expect(missing).toMatchObject({ code: NOT_FOUND });
      expect(missing.type).toContain("application/json");
    }
  });
});

/** Everything that names a task. */
function actionsOn(taskId: string): readonly Action[] {
  const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "yes" }], taskId };
  const url = "https://hooks.example.com/";
  return [
    { method: "GetTask", params: { id: taskId } },
    { method: "SendMessage", params: { message } },
    { method: "CancelTask", params: { id: taskId } },
    { method: "SubscribeToTask", params: { id: taskId } },
    { method: "CreateTaskPushNotificationConfig", params: { taskId, id: "p1", url } },
    { method: "GetTaskPushNotificationConfig", params: { taskId, id: "p1" } },
    { method: "ListTaskPushNotificationConfigs", params: { taskId } },
    { method: "DeleteTaskPushNotificationConfig", params: { taskId, id: "p1" } },
  ];
}

describe.each(BINDINGS)("H01 over %s", (binding) => {
  it("H01 [Z5] [P97] another's task answers as a random id does, whatever is asked, and nothing of it changes", async () => {
    install(new StrictModel([ask(["ask_human", { question: "Which one?" }])]));
    const k1 = await send(u1, binding, { text: "a secret" });
    const victim = new ThreadClient(t1, AGENT, k1.contextId);
    const before = await victim.events();
    const mine = actionsOn(k1.id);
    for (const operation of mine.slice(4, 5)) await call(u1, binding, operation);
    const lines: string[] = [];
    const log = vi
      .spyOn(console, "log")
      .mockImplementation((line: string) => void lines.push(line));

    const random = actionsOn("thr_9.run_9");
    for (const who of [t2, await t2.user("u1"), u2]) {
      for (const [index, operation] of mine.entries()) {
        const foreign = await call(who, binding, operation);
        expect(foreign, operation.method).toEqual(
          await call(who, binding, random[index] ?? operation),
        );
        expect(foreign.code, operation.method).toBe(NOT_FOUND);
      }
      for (const params of [{}, { contextId: k1.contextId }]) {
        const list = await call(who, "JSON-RPC", { method: "ListTasks", params });
        expect(list.body).toMatchObject({ tasks: [], totalSize: 0 });
      }
    }
    log.mockRestore();
    const logged = lines.map((line) => JSON.parse(line) as { type: string; tenant: string });
    for (const tenant of ["t1", "t2"])
      expect(logged.some((line) => line.type === "request" && line.tenant === tenant)).toBe(true);
    expect(await victim.events()).toEqual(before);
    const configs = await call(u1, binding, mine[6]!);
    expect(configs.body).toMatchObject({ configs: [{ id: "p1" }] });
    const own = await call(u1, "JSON-RPC", {
      method: "ListTasks",
      params: { contextId: k1.contextId },
    });
    expect(own.body).toMatchObject({ tasks: [{ id: k1.id }], totalSize: 1 });
  });
});

describe.each(BINDINGS)("H09 over %s", (binding) => {
  it("H09 [Z5] [P95] a subscription tells its own task's events and no other's, whatever place it names", async () => {
    const script = (name: string) =>
      new ScriptModel([
        [{ text: `${name}1 ` }, { hold: true }, { text: `${name}2` }, { finish: "stop" }],
      ]);
    const [modelA, modelB] = [script("alpha"), script("bravo")];
    const [agentA, agentB] = [{ agent: "h09-a" }, { agent: "h09-b" }];
    install(modelA, agentA.agent);
    install(modelB, agentB.agent);
    const immediately = { configuration: { returnImmediately: true } };
    const a = await send(t1, binding, { text: "one", ...agentA, ...immediately });
    const b = await send(t2, binding, { text: "two", ...agentB, ...immediately });
    await t1.until(async () => (modelA.waiting + modelB.waiting === 2 ? true : null));

    // 1 and 3: another's task, with another's place in it, is a missing one.
    for (const headers of [{}, { "last-event-id": "1" }]) {
      const foreign = await t2.fetch("GET", `/a2a/${agentA.agent}/tasks/${a.id}:subscribe`, {
        headers: { "a2a-version": "1.0", ...headers },
      });
      expect(foreign.status).toBe(404);
      expect(foreign.headers.get("content-type")).toContain("application/json");
      expect(await foreign.text()).not.toContain("alpha");
    }
    // 2: its own, and nothing else.
    const [sA, sB] = [
      await subscribe(t1, binding, { ...a, ...agentA }),
      await subscribe(t2, binding, { ...b, ...agentB }),
    ];
    modelA.release();
    modelB.release();
    const [toldA, toldB] = [JSON.stringify(await sA.rest()), JSON.stringify(await sB.rest())];
    expect(toldB).toContain("bravo1 ");
    expect(toldB).toContain("bravo2");
    expect(toldB).not.toContain("alpha");
    expect(toldB).not.toContain(a.id);
    expect(toldA).toContain("alpha2");
    expect(toldA).not.toContain("bravo");
    // 4: what has ended has no stream, for its owner; for others it never was.
    const again = { method: "SubscribeToTask", params: { id: a.id }, ...agentA };
    expect(await call(t1, binding, again)).toMatchObject({ code: UNSUPPORTED });
    expect(await call(t2, binding, again)).toMatchObject({ code: NOT_FOUND });
  });
});
