/** How an intent ends when it is not simply answered: late, fenced off, aborted, capped, or left behind by a process. */
import { describe, expect, test } from "vitest";
import { CrashBoundary } from "#test/support/crash-boundary.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { hangUntilAborted, World } from "#test/support/world.ts";

describe("closed intents", () => {
  test("[G10] [K16] a result that arrives after the cancel is recorded on its run as late, and no prompt shows it", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const world = new World();
    const model = new ScriptModel([ask(["pay"]), say("second run")]);
    const thread = new ThreadHarness({
      model,
      tools: [
        world.tool("pay", "once", async () => held.then(() => `receipt 42 ${"z".repeat(9_000)}`)),
      ],
    });
    thread.send("pay");
    const driving = thread.finish();
    await expect.poll(() => thread.of("tool.started").length).toBe(1);
    expect(thread.cancel("run_1").ok).toBe(true);
    await driving;
    expect(thread.run("run_1").status).toBe("cancelled");
    release();
    await expect.poll(() => thread.of("tool.late").length).toBe(1);
    const [late] = thread.of("tool.late");
    // Its file is not kept, so it names none.
    expect(late?.payload?.result).toMatchObject({ status: "ok", handle: null, bytes: 9_011 });
    expect(late?.payload?.result.output).toMatch(/^receipt 42 z/);
    expect(late?.payload?.result.output).not.toContain(".results");
    expect(late?.header).toMatchObject({
      run: "run_1",
      call: thread.of("tool.started")[0]?.header.call,
    });
    thread.send("again");
    await thread.finish();
    expect(JSON.stringify(model.requests.at(-1))).not.toContain("receipt 42");
  });

  test("[G10] [L5] a process whose epoch is old cannot write an outcome, and nobody is thrown at", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const world = new World();
    const thread = new ThreadHarness({
      model: new ScriptModel([ask(["pay"]), say("done")]),
      tools: [world.tool("pay", "once", async () => held.then(() => "receipt"))],
    });
    thread.send("pay");
    const old = thread.runtime;
    const oldDrive = old.drive();
    await expect.poll(() => world.executions.length).toBe(1);
    thread.reopen();
    await thread.finish();
    const head = thread.log.head().seq;
    release();
    await expect(oldDrive).resolves.toEqual({ next: "idle" });
    expect(thread.log.head().seq).toBe(head);
    expect(thread.of("tool.finished").map(({ payload }) => payload?.result.code)).toEqual([
      "outcome_unknown",
    ]);
    expect(
      old.submit(
        { type: "set_state", state: 1, bytes: 1 },
        { actor: "usr_1", idempotencyKey: null, bodyDigest: "" },
      ),
    ).toMatchObject({
      ok: false,
      error: { reason: "read_only" },
    });
  });

  test("[G10] the effects of a cancelled run are aborted at once", async () => {
    const world = new World();
    const thread = new ThreadHarness({
      model: new ScriptModel([ask(["slow"])]),
      tools: [world.tool("slow", "read", hangUntilAborted)],
    });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => world.executions.length).toBe(1);
    thread.cancel("run_1");
    await driving;
    expect(thread.types().at(-1)).toBe("run.cancelled");
    expect(thread.of("tool.late")).toEqual([]);
  });
});

describe("spending", () => {
  const prices = {
    price: () => ({
      version: "p1",
      inputMicrosPerMillion: 0,
      cachedInputMicrosPerMillion: 0,
      outputMicrosPerMillion: 1_000_000,
    }),
  };

  test("[G11] a run ends before a call that could pass its cost cap, reservation counted", async () => {
    const world = new World();
    const model = new ScriptModel(Array.from({ length: 9 }, () => ask(["look"])));
    const limits = { maxSteps: 50, maxCostMicros: 1_012, maxTokens: null, maxQueuedInputs: 1 };
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("look", "read")],
      manifest: { limits },
      prices,
    });
    thread.send("go");
    await thread.finish();
    // Each step costs 5 and reserves 1,000: after three steps 15 + 1,000 would pass 1,012.
    expect(model.requests).toHaveLength(3);
    expect(thread.run("run_1")).toMatchObject({
      status: "failed",
      reason: "cost_cap",
      costMicros: 15,
    });
  });

  test("[G11] calls per tool and steps are capped", async () => {
    const world = new World();
    const model = new ScriptModel(Array.from({ length: 9 }, () => ask(["look"])));
    const tool = world.tool("look", "read", undefined, {
      limits: { timeoutMs: 100, maxResultBytes: 100, maxCallsPerRun: 2 },
    });
    const limits = { maxSteps: 4, maxCostMicros: null, maxTokens: null, maxQueuedInputs: 1 };
    const thread = new ThreadHarness({ model, tools: [tool], manifest: { limits } });
    thread.send("go");
    await thread.finish();
    expect(world.executions).toHaveLength(2);
    expect(thread.of("tool.refused").map(({ payload }) => payload?.refusal.code)).toEqual([
      "tool_call_limit",
      "tool_call_limit",
    ]);
    expect(model.requests).toHaveLength(4);
    expect(thread.run("run_1").finish).toBe("step_cap");
  });

  test("[G12] an attempt the process did not survive is closed as interrupted, and the next one's cost is recovery", async () => {
    // Crossings of a model call: before_intent, after_intent, after_dispatch.
    const boundary = new CrashBoundary(3);
    const thread = new ThreadHarness({ model: new ScriptModel([say("hello")]), prices, boundary });
    thread.send("go");
    await expect(thread.finish()).rejects.toThrow("crashed");
    thread.boundary = new CrashBoundary();
    thread.reopen();
    await thread.finish();
    expect(thread.of("model.interrupted")).toHaveLength(1);
    expect(
      thread
        .of("model.answered")
        .map(({ header }) => [header.attempt, header.costKind, header.costMicros]),
    ).toEqual([[2, "recovery", 5]]);
    expect(thread.run("run_1")).toMatchObject({ status: "completed", recoveryMicros: 5 });
  });
});
