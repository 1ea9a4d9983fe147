/** Handed case D01 through the public API: one call for ever, in its five variants. */
import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import type { RunView, ThreadView } from "#ports/thread-gateway.ts";
import type { Tool } from "#ports/tool.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask } from "../support/scripted-model.ts";
import { StrictModel, type Reply } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

/** The configured limit: a tool's and an agent's default. */
const N = 5;

let api: Api;
beforeAll(async () => {
  lab.heartbeatMs = 400;
  api = await Api.service("loops");
});
afterEach(() => lab.models.clear());

function getStatus(executed: Json[], wait?: (count: number) => Promise<void>): Tool {
  return defineTool({
    name: "get_status",
    description: "Answers a status.",
    version: "1",
    input: z.looseObject({ id: z.number() }),
    effect: "read",
    execute: async (args) => {
      executed.push(args as JsonObject);
      await wait?.(executed.length);
      return "unknown";
    },
  });
}

function start(name: string, reply: Reply, tools: readonly Tool[]) {
  const route = `test/${name}`;
  const model = new StrictModel(reply);
  const limits = { maxCostMicros: null };
  const about = { description: name, instructions: "Help." };
  deploy(defineAgent({ name, ...about, model: route, tools, limits }));
  lab.models.set(route, model);
  return { model, thread: new ThreadClient(api, name, "t1") };
}

const STOPPED = {
  status: "completed",
  finish: "loop_guard",
  loop: { tool: "get_status", args: expect.stringMatching(/^[0-9a-f]{16}$/) },
};

describe("D01: the same call for ever", () => {
  it("D01 [B1] [B4] plain: at most N executions, told over REST, SSE and in the record", async () => {
    const executed: Json[] = [];
    const { thread, model } = start("d01-plain", () => ask(["get_status", { id: 1 }]), [
      getStatus(executed),
    ]);
    const run = await thread.ask("go");
    expect(executed.length).toBeLessThanOrEqual(N);
    expect(model.requests.length).toBeLessThanOrEqual(N + 2);
    expect(run).toMatchObject(STOPPED);
    expect(run.loop).toMatchObject({ pattern: "repeat", count: N });
    expect(run.message).toContain("get_status was made 5 times");
    const streamed = await (await thread.stream(run.runId)).toEnd();
    const last = streamed.findLast(({ event }) => event === "event" || event === "run.completed");
    expect(JSON.stringify(last)).toContain('"pattern":"repeat"');
    const [warned] = await thread.of("context.added");
    expect(warned?.payload).toMatchObject({ kind: "reminder", loop: { pattern: "repeat" } });
    expect(model.rejections).toEqual([]);
    expect(await thread.chainFault()).toBeNull();
  });

  it("D01 [B5] three identical calls a message: those of one message count", async () => {
    const executed: Json[] = [];
    const call = ["get_status", { id: 1 }] as const;
    const { thread, model } = start("d01-batch", () => ask(call, call, call), [
      getStatus(executed),
    ]);
    expect(await thread.ask("go")).toMatchObject(STOPPED);
    expect(executed.length).toBeLessThanOrEqual(N);
    expect(model.requests.length).toBeLessThanOrEqual(N + 2);
    expect(model.rejections).toEqual([]);
  });

  it("D01 [B8] killed after repetition 3: the count goes on", async () => {
    const executed: Json[] = [];
    let killed = false;
    const { thread, model } = start(
      "d01-killed",
      (request) => {
        const results = request.messages.filter(({ role }) => role === "tool").length;
        // The fourth answer never comes before the kill.
        return results === 3 && !killed ? [{ hang: true }] : ask(["get_status", { id: 1 }]);
      },
      [getStatus(executed)],
    );
    const runId = await thread.send("go");
    await api.until(async () => (model.requests.length === 4 ? true : null));
    expect(executed).toHaveLength(3);
    killed = true;
    await abortAllDurableObjects();
    expect(await thread.ended(runId)).toMatchObject(STOPPED);
    expect(executed.length).toBeLessThanOrEqual(N);
    expect(model.rejections).toEqual([]);
    expect(await thread.chainFault()).toBeNull();
  });

  it("D01 [B1] volatile arguments with a constant result: stopped within 2N", async () => {
    const executed: Json[] = [];
    const { thread, model } = start(
      "d01-volatile",
      (_, index) =>
        ask(["get_status", { id: 1, request_id: `req-${index}`, ts: 1_700_000_000 + index }]),
      [getStatus(executed)],
    );
    expect(await thread.ask("go")).toMatchObject({
      ...STOPPED,
      loop: { ...STOPPED.loop, pattern: "no_progress" },
    });
    expect(executed.length).toBeLessThanOrEqual(2 * N);
    expect(model.requests.length).toBeLessThanOrEqual(2 * N + 2);
    expect(new Set(executed.map((args) => JSON.stringify(args))).size).toBe(executed.length);
  });

  it("D01 [B10] [B12] halted: no alarm and no webhook wakes it, until an operator resumes", async () => {
    const executed: Json[] = [];
    let wake = (): void => undefined;
    const held = new Promise<void>((resolve) => (wake = resolve));
    const { thread, model } = start(
      "d01-halted",
      (_, index) =>
        index === 1 ? [{ text: "let me" }, { hang: true }] : ask(["get_status", { id: 1 }]),
      [getStatus(executed, (count) => (count > 1 ? held : Promise.resolve()))],
    );
    const runId = await thread.send("go");
    await api.until(async () => (model.requests.length === 2 ? true : null));
    const user = new ThreadClient(await api.user("somebody"), "d01-halted", "t1");
    expect((await post(user, "/halt")).status).toBe(403);
    const halted = await post(thread, "/halt", { reason: "it calls for ever" });
    expect(halted).toMatchObject({ status: 200, body: { runId, disposition: "recorded" } });
    const seen = [executed.length, model.requests.length];

    const alarm = async (): Promise<void> =>
      void (await runDurableObjectAlarm(stubOf("d01-halted")));
    const webhook = (delivery: string) => post(thread, "/messages", { text: "woken", delivery });
    const waking = [
      alarm,
      () => webhook("queue"),
      () => webhook("interrupt"),
      abortAllDurableObjects,
    ];
    for (const woken of [...waking, ...waking]) await woken();
    for (const delivery of ["queue", "steer", "reject", "interrupt"])
      expect(await webhook(delivery)).toMatchObject({
        status: 409,
        body: { code: "thread_halted" },
      });
    const view = await api.json<ThreadView>("GET", thread.path);
    expect(view.body).toMatchObject({
      activeRun: runId,
      halted: { reason: "it calls for ever", by: expect.stringMatching(/./) },
    });
    expect((await api.json<RunView>("GET", `${thread.path}/runs/${runId}`)).body.status).toBe(
      "waiting",
    );
    await alarm();
    expect([executed.length, model.requests.length]).toEqual(seen);
    expect(await thread.of("model.failed")).toHaveLength(1);

    wake();
    expect(await post(thread, "/resume", {})).toMatchObject({ status: 200 });
    expect(await thread.ended(runId)).toMatchObject(STOPPED);
    expect(executed).toHaveLength(N);
    expect(await thread.of("thread.halted")).toHaveLength(1);
    expect(await thread.of("thread.resumed")).toHaveLength(1);
    expect(model.rejections).toEqual([]);
    expect(await thread.chainFault()).toBeNull();
  });
});

function post(thread: ThreadClient, path: string, body: JsonObject = {}) {
  return thread.api.json<JsonObject>("POST", thread.path + path, body);
}
function stubOf(agent: string): DurableObjectStub {
  const { AGENT } = env as unknown as { readonly AGENT: DurableObjectNamespace };
  return AGENT.get(AGENT.idFromName(`v1/loops/${agent}/t1`));
}
