/** A thread as an object: its RPC surface, other builds over the same storage, and deploys in the middle of a run. */
import { abortAllDurableObjects } from "cloudflare:test";
import { Agent } from "agents";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { ThreadAgent } from "#durable-objects/agent-object.ts";
import { DeliveringThread } from "#durable-objects/agent/delivery-object.ts";
import { NotifyingThread } from "#durable-objects/agent/push/push-object.ts";
import { ScheduledThread } from "#durable-objects/agent/schedule-object.ts";
import { ThreadObject } from "#durable-objects/agent/thread-object.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import type { Model } from "#ports/model.ts";
import type { Tool } from "#ports/tool.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask, say, ScriptModel, type ScriptPart } from "../support/scripted-model.ts";
import { NEWER_CATALOGUE, NEWER_MIGRATIONS, StoredThread } from "../support/stored-thread.ts";
import { lastResults, StrictModel } from "../support/strict-model.ts";
import { eventLines } from "../support/run-check.ts";
import { ThreadClient } from "../support/thread-client.ts";
import { THREAD_METHODS } from "../support/thread-methods.ts";

let api: Api;
beforeAll(async () => {
  api = await Api.service("acme");
});
afterEach(() => {
  lab.models.clear();
  lab.build = {};
});

interface Build {
  readonly instructions?: string;
  readonly tools?: readonly Tool[];
}
/** What a deploy is to a thread: the agent of this name as the code has it now. */
function build(name: string, { instructions = "Help.", tools = [] }: Build = {}): void {
  deploy(defineAgent({ name, description: name, instructions, model: `test/${name}`, tools }));
}
function start(name: string, model: Model, first: Build = {}) {
  build(name, first);
  lab.models.set(`test/${name}`, model);
  return {
    thread: new ThreadClient(api, name, "t1"),
    stored: new StoredThread("acme", name, "t1"),
  };
}
const until = (holds: () => boolean): Promise<true> =>
  api.until(async () => (holds() ? true : null));
const HALF: readonly ScriptPart[] = [{ text: "half" }, { hang: true }];

describe("a thread", () => {
  it("[G5] answers with a tool's result, each effect once", async () => {
    let executed = 0;
    const tool = defineTool({
      name: "add",
      description: "Adds.",
      version: "1",
      input: z.object({ a: z.number(), b: z.number() }),
      effect: "once",
      execute: async ({ a, b }) => {
        executed += 1;
        return a + b;
      },
    });
    const model = new ScriptModel([ask(["add", { a: 1, b: 2 }]), say("three")]);
    const { thread } = start("adder", model, { tools: [tool] });
    const run = await thread.ask("one and two");
    expect(run).toMatchObject({ status: "completed", finish: "stop", text: "three", steps: 2 });
    expect(executed).toBe(1);
    expect(model.requests).toHaveLength(2);
  });

  it("[Z3] offers over RPC what ThreadStub lists, and nothing else of its own", () => {
    // Of the class and of the one that keeps its lifecycle: symbols are no names, so RPC cannot ask for them.
    const own = [
      ThreadAgent.prototype,
      DeliveringThread.prototype,
      NotifyingThread.prototype,
      ScheduledThread.prototype,
      ThreadObject.prototype,
    ]
      .flatMap((prototype) => Object.getOwnPropertyNames(prototype))
      .filter((name) => name !== "constructor");
    expect(own.toSorted()).toEqual(["fetch", ...Object.keys(THREAD_METHODS)].toSorted());
    // Any other name of the base class would replace what the SDK calls.
    expect(own.filter((name) => name in Agent.prototype)).toEqual(["fetch"]);
  });

  it("[Z4] checks the caller itself, below every route", async () => {
    const { thread, stored } = start("owner", new StrictModel([say("hello")]));
    const owned = thread.as(await api.user("u1"));
    await owned.ask("mine");
    const asked = (caller: object) => stored.view({ scopes: [], ...caller });
    expect(await asked({ tenant: "acme", kind: "user", id: "u1" })).toMatchObject({ ok: true });
    expect(await asked({ tenant: "acme", kind: "user", id: "u2" })).toMatchObject({ ok: false });
    expect(await asked({ tenant: "other", kind: "service", id: "u1" })).toMatchObject({
      ok: false,
    });
  });
});

describe("commands", () => {
  it("[K1][K2] the same key after a crash gives the first receipt, and another body under it is refused", async () => {
    const model = new StrictModel([say("hello")]);
    const { thread } = start("keys", model);
    const send = (text: string) =>
      api.json<{ runId: string }>(
        "POST",
        `${thread.path}/messages`,
        { text },
        { "idempotency-key": "k1" },
      );
    const first = await send("hi");
    await abortAllDurableObjects();
    const again = await send("hi");
    expect(again).toMatchObject({ status: 202, body: first.body });
    expect(await send("other")).toMatchObject({
      status: 409,
      body: { code: "idempotency_conflict" },
    });
    expect(await thread.ended(first.body.runId)).toMatchObject({ finish: "stop", text: "hello" });
    expect(await thread.of("input.received")).toHaveLength(1);
    expect(await thread.of("run.started")).toHaveLength(1);
  });

  it("[K16] cancelling settles within a second, stops what is upstream, and records what comes late", async () => {
    const outside = { release: false, aborted: false };
    const slow = defineTool({
      name: "slow",
      description: "Is slow, and deaf.",
      version: "1",
      input: z.object({}),
      effect: "once",
      limits: { timeoutMs: 600_000 },
      execute: async (_, { signal }) => {
        signal.addEventListener("abort", () => (outside.aborted = true));
        while (!outside.release) await new Promise((resolve) => setTimeout(resolve, 1));
        return "done after all";
      },
    });
    const model = new ScriptModel([ask(["slow"]), HALF, say("next")]);
    const { thread } = start("cancel", model, { tools: [slow] });
    const cancel = async (runId: string): Promise<void> => {
      const asked = performance.now();
      expect((await api.json("POST", `${thread.path}/runs/${runId}/cancel`)).status).toBe(200);
      expect(await thread.ended(runId)).toMatchObject({ status: "cancelled" });
      expect(performance.now() - asked).toBeLessThan(1_000);
    };
    const inTool = await thread.send("act");
    await api.until(async () => ((await thread.of("tool.started")).length === 1 ? true : null));
    await cancel(inTool);
    expect(outside.aborted).toBe(true);
    outside.release = true;
    await api.until(async () => ((await thread.of("tool.late")).length === 1 ? true : null));
    const [late] = await thread.of("tool.late");
    expect(late?.header.run).toBe(inTool);
    expect(late?.payload).toMatchObject({ result: { output: "done after all" } });

    const inModel = await thread.send("talk");
    await until(() => model.waiting === 1);
    await cancel(inModel);
    await until(() => model.waiting === 0);
    expect(model.requests).toHaveLength(2);
    expect(await thread.chainFault()).toBeNull();
  });

  it("[L4] an erased payload is gone from every answer, over a restart too, and the chain still verifies", async () => {
    const { thread } = start("erase", new StrictModel([say("hello"), say("again")]));
    await thread.ask("canary-secret");
    const [input] = await thread.of("input.received");
    /** Everything the log holds, decoded. */
    const stored = async (): Promise<string> => {
      return eventLines(await thread.export())
        .map((line) => atob((JSON.parse(line) as { payload: string | null }).payload ?? ""))
        .join();
    };
    expect(await stored()).toContain("canary-secret");
    const erase = () => api.json("POST", `${thread.path}/events/${input?.header.seq}/erase`);
    expect(await erase()).toMatchObject({ status: 200, body: { erased: 1 } });
    expect(await erase()).toMatchObject({ status: 200, body: { erased: 0 } });
    await abortAllDurableObjects();
    expect(await stored()).not.toContain("canary-secret");
    expect(JSON.stringify([await thread.events(), await thread.messages()])).not.toContain(
      "canary",
    );
    expect(await thread.chainFault()).toBeNull();
    expect(await thread.ask("and now?")).toMatchObject({ finish: "stop" });
  });
});

describe("another build over the same storage", () => {
  it.each([
    {
      change: "a raised event version",
      newer: { catalogue: NEWER_CATALOGUE },
      code: "log_newer_than_code",
      status: 409,
    },
    {
      change: "a migration",
      newer: { migrations: NEWER_MIGRATIONS },
      code: "migration_failed",
      status: 503,
    },
  ])(
    "[L6] $change: the older build reads the thread and runs nothing, the newer one ends its run",
    async ({ change, newer, code, status }) => {
      const model = new StrictModel((_, index) => (index === 0 ? HALF : say(`answer ${index}`)));
      const { thread } = start(`build-${code.slice(0, 3)}`, model);
      const runId = await thread.send("hi");
      await until(() => model.requests.length === 1);
      // The newer build takes over in the middle of the run, and has written before the older one is back.
      lab.build = newer;
      await abortAllDurableObjects();
      expect((await api.json("PUT", `${thread.path}/state`, { by: change })).status).toBe(200);
      expect(await thread.ended(runId)).toMatchObject({ finish: "stop", text: "answer 1" });
      lab.build = {};
      await abortAllDurableObjects();

      expect(await api.json("GET", thread.path)).toMatchObject({
        status: 200,
        body: { writable: false, readOnlyReason: code },
      });
      const before = await thread.events();
      expect((await thread.messages()).map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(await thread.chainFault()).toBeNull();
      const refused = [
        await api.json("POST", `${thread.path}/messages`, { text: "again" }),
        await api.json("PUT", `${thread.path}/state`, {}),
      ];
      expect(refused).toMatchObject([1, 2].map(() => ({ status, body: { code } })));
      expect(await thread.events()).toEqual(before);

      lab.build = newer;
      await abortAllDurableObjects();
      expect(await thread.ask("again")).toMatchObject({ finish: "stop", text: "answer 2" });
    },
  );

  it("[L6] a live run in a log of a newer build is not taken up, not even by the alarm", async () => {
    const model = new StrictModel((_, index) => (index === 0 ? HALF : say("never")));
    const { thread, stored } = start("newer", model);
    const runId = await thread.send("hi");
    await until(() => model.requests.length === 1);
    await stored.asAnotherBuild(NEWER_CATALOGUE, (log) =>
      log.append([{ type: "state.set", payload: { state: { from: "the future" } } }], {
        at: Date.now(),
      }),
    );
    await abortAllDurableObjects();
    expect(await api.json("GET", thread.path)).toMatchObject({
      status: 200,
      body: { writable: false, readOnlyReason: "log_newer_than_code", activeRun: runId },
    });
    const before = await thread.events();
    const cancel = await api.json("POST", `${thread.path}/runs/${runId}/cancel`);
    expect(cancel).toMatchObject({ status: 409, body: { code: "log_newer_than_code" } });
    // Longer than the heartbeat.
    const since = Date.now();
    await until(() => Date.now() - since > 2 * lab.heartbeatMs);
    expect(model.requests).toHaveLength(1);
    expect(await thread.events()).toEqual(before);
  });

  it("[L6] a failed migration leaves a thread that is read, not run, until the build that fits is back", async () => {
    const model = new StrictModel([say("hello"), say("again")]);
    const { thread, stored } = start("migration", model);
    await thread.ask("hi");
    const before = await thread.events();
    const setDigest = (digest: string): Promise<string> =>
      stored.within(({ storage: { sql } }) => {
        const { digest: old } = sql
          .exec<{ digest: string }>("SELECT digest FROM schema_migrations ORDER BY id LIMIT 1")
          .one();
        sql.exec(
          "UPDATE schema_migrations SET digest = ? WHERE id = (SELECT min(id) FROM schema_migrations)",
          digest,
        );
        return old;
      });
    const digest = await setDigest("edited");
    await abortAllDurableObjects();
    expect(await api.json("GET", thread.path)).toMatchObject({
      status: 200,
      body: { writable: false, readOnlyReason: "migration_failed" },
    });
    expect(await thread.events()).toEqual(before);
    expect(await thread.chainFault()).toBeNull();
    const refused = await api.json("POST", `${thread.path}/messages`, { text: "again" });
    expect(refused).toMatchObject({ status: 503, body: { code: "migration_failed" } });
    await setDigest(digest);
    await abortAllDurableObjects();
    expect(await thread.ask("again")).toMatchObject({ finish: "stop", text: "again" });
  });

  it("[L5][G10] of two writers on one storage the older writes nothing any more", async () => {
    const model = new ScriptModel([
      [{ text: "late" }, { hold: true }, { finish: "stop" }],
      say("fresh"),
    ]);
    const { thread, stored } = start("epoch", model);
    const runId = await thread.send("hi");
    await until(() => model.waiting === 1);
    await stored.asAnotherBuild(THREAD_CATALOGUE, (log) =>
      log.append([{ type: "state.set", payload: { state: { owner: "second" } } }], {
        at: Date.now(),
      }),
    );
    const before = await thread.events();
    const refused = await api.json("PUT", `${thread.path}/state`, { owner: "first" });
    expect(refused).toMatchObject({ status: 503, body: { code: "stale_epoch", retryable: true } });
    expect(await thread.events()).toEqual(before);
    // The call in flight comes back to a writer that is not the newest: its answer is not recorded by it.
    model.release();
    expect(await thread.ended(runId)).toMatchObject({ finish: "stop", text: "late" });
    expect(model.requests).toHaveLength(2);
    expect(await thread.of("model.interrupted")).toHaveLength(1);
    expect(await thread.of("model.answered")).toHaveLength(1);
    expect(await thread.of("state.set")).toHaveLength(1);
    const writers = (await thread.events()).map(({ header }) => header.epoch);
    expect(writers).toEqual(writers.toSorted((a, b) => a - b));
    expect(await thread.chainFault()).toBeNull();
  });
});

describe("a deploy between crash and recovery", () => {
  it("[K18] changed instructions: the run ends on its pin, the next one begins with the new ones", async () => {
    const model = new StrictModel((_, index) => (index === 0 ? HALF : say(`answer ${index}`)));
    const { thread } = start("instructions", model, { instructions: "Be kind." });
    const runId = await thread.send("hi");
    await until(() => model.requests.length === 1);
    await abortAllDurableObjects();
    build("instructions", { instructions: "Be brief." });
    expect(await thread.ended(runId)).toMatchObject({ finish: "stop", text: "answer 1" });
    await thread.ask("again");
    expect(model.requests.map(({ instructions }) => instructions)).toEqual([
      "Be kind.",
      "Be kind.",
      "Be brief.",
    ]);
    const pinned = await thread.of("definition.pinned");
    expect(new Set(pinned.map(({ header }) => header.definition)).size).toBe(2);
  });

  const act = (field: string, executed: string[], never = false): Tool =>
    defineTool({
      name: "act",
      description: "Acts.",
      version: "1",
      input: z.object({ [field]: z.string() }),
      effect: "read",
      limits: { timeoutMs: 600_000 },
      execute: async () => {
        executed.push(field);
        return never ? new Promise<string>(() => undefined) : "acted";
      },
    });

  it.each(["removed", "schema", "agent"] as const)(
    "[T9] tool gone or changed (%s): its call is refused as tool_unavailable, and the run ends",
    async (change) => {
      const executed: string[] = [];
      const model = new StrictModel([ask(["act", { a: "x" }]), say("without it"), say("again")]);
      const name = `deploy-${change}`;
      const { thread } = start(name, model, { tools: [act("a", executed, true)] });
      const runId = await thread.send("act");
      await until(() => executed.length === 1);
      await abortAllDurableObjects();
      if (change === "removed") build(name);
      if (change === "schema") build(name, { tools: [act("b", executed)] });
      if (change === "agent") lab.agents.delete(name);
      expect(await thread.ended(runId)).toMatchObject({ status: "completed", text: "without it" });
      expect(executed).toEqual(["a"]);
      const refused = await thread.of("tool.refused");
      expect(refused.map(({ payload }) => payload["refusal"])).toMatchObject([
        { code: "tool_unavailable" },
      ]);
      expect(lastResults(model.requests[1])).toMatchObject([{ isError: true }]);
      // The pin holds the tool as it was, so later steps of the run still list it.
      expect(model.requests[1]?.tools).toEqual(model.requests[0]?.tools);
      expect(model.rejections).toEqual([]);
      const next = await api.json("POST", `${thread.path}/messages`, { text: "again" });
      if (change === "agent")
        expect(next).toMatchObject({ status: 404, body: { code: "agent_unknown" } });
      else expect(next.status).toBe(202);
    },
  );
});
