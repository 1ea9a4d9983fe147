/** How long a run may work (B57): time that counts, time that does not, and what becomes of what is in flight. */
import { describe, expect, test } from "vitest";
import { CrashBoundary } from "#test/support/crash-boundary.ts";
import { ask, say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { MANIFEST, ThreadHarness, type HarnessOptions } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const MAX = 10_000;
const HANG: readonly ScriptPart[] = [{ text: "begun" }, { hang: true }];

function setup(
  script: readonly (readonly ScriptPart[])[],
  options: Partial<HarnessOptions> = {},
): { readonly thread: ThreadHarness; readonly model: ScriptModel } {
  const model = new ScriptModel(script, { by: "call" });
  const manifest = { limits: { ...MANIFEST.limits, maxWallMs: MAX }, ...options.manifest };
  const thread = new ThreadHarness({ model, ...options, manifest });
  return { thread, model };
}

/** Longer than any chain of resolved promises between two waits. */
async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000; turn += 1) {
    if (holds()) return;
    await Promise.resolve();
  }
  throw new Error("it does not come to that");
}

const isOver = (thread: ThreadHarness): boolean => thread.run("run_1").status === "failed";

describe("[B57] a run that may work only so long", () => {
  test("is ended at its deadline, with its model call aborted and the reason in the record", async () => {
    const { thread, model } = setup([HANG]);
    thread.send("go");
    const driven = thread.runtime.drive();
    await until(() => model.waiting === 1);
    thread.timers.advance(MAX - 1);
    await until(() => model.waiting === 1);
    expect(thread.run("run_1").status).toBe("running");
    thread.timers.advance(1);
    expect(await driven).toEqual({ next: "idle" });
    await until(() => model.waiting === 0);
    expect(thread.run("run_1")).toMatchObject({
      status: "failed",
      reason: "deadline_exceeded",
      message: `it worked for ${MAX} ms, which is as long as a run of this agent may`,
    });
    expect(thread.types().slice(-2)).toEqual(["model.failed", "run.failed"]);
    const [failed] = thread.of("model.failed");
    expect(failed?.payload).toMatchObject({ code: "aborted", settlement: { estimated: true } });
    expect(model.requests).toHaveLength(1);
    expect(thread.chainFault()).toBeNull();
  });

  test("counts on over crashes: what a process worked before it died, and the time that it was dead", async () => {
    const { thread, model } = setup([HANG, HANG, say("never")]);
    thread.send("go");
    void thread.runtime.drive();
    await until(() => model.waiting === 1);
    thread.timers.advance(4_000);
    thread.runtime.saveSnapshot();
    thread.runtime.abort("killed");
    thread.clock.advance(2_000);
    thread.reopen();
    const driven = thread.runtime.drive();
    await until(() => model.waiting === 1 && model.requests.length === 2);
    thread.timers.advance(3_999);
    expect(isOver(thread)).toBe(false);
    thread.timers.advance(1);
    await driven;
    expect(thread.run("run_1").reason).toBe("deadline_exceeded");
    // Dead for longer than it had left: the next process starts nothing.
    const late = setup([HANG, say("never")]);
    late.thread.send("go");
    void late.thread.runtime.drive();
    await until(() => late.model.waiting === 1);
    late.thread.runtime.abort("killed");
    late.thread.clock.advance(MAX);
    late.thread.reopen();
    await late.thread.runtime.drive();
    expect(late.thread.run("run_1").reason).toBe("deadline_exceeded");
    expect(late.model.requests).toHaveLength(1);
  });

  test("does not count what a person takes to decide, nor a halt", async () => {
    const world = new World();
    const pay = world.tool("pay", "once", () => "paid", { approval: "always" });
    const { thread, model } = setup([ask(["pay"]), HANG, say("never")], { tools: [pay] });
    thread.send("go");
    await thread.runtime.drive();
    thread.clock.advance(5 * 86_400_000);
    thread.reopen();
    thread.decide(thread.openApprovals()[0] ?? "", "approve");
    void thread.runtime.drive();
    await until(() => model.waiting === 1);
    expect(world.executions).toHaveLength(1);
    thread.timers.advance(6_000);
    expect(thread.halt().ok).toBe(true);
    await until(() => model.waiting === 0);
    thread.clock.advance(86_400_000);
    expect(thread.resume().ok).toBe(true);
    const driven = thread.runtime.drive();
    await until(() => model.requests.length === 3 && model.waiting === 0);
    await driven;
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "never" });
  });

  test("counts the time on both sides of a wait together", async () => {
    const pay = new World().tool("pay", "once", () => "paid", { approval: "always" });
    const slow: readonly ScriptPart[] = [{ hold: true }, ...ask(["pay"])];
    const { thread, model } = setup([slow, HANG], { tools: [pay] });
    thread.send("go");
    const first = thread.runtime.drive();
    await until(() => model.waiting === 1);
    thread.timers.advance(7_000);
    model.release();
    await first;
    thread.clock.advance(86_400_000);
    thread.decide(thread.openApprovals()[0] ?? "", "approve");
    const second = thread.runtime.drive();
    await until(() => model.waiting === 1);
    thread.timers.advance(2_999);
    expect(isOver(thread)).toBe(false);
    thread.timers.advance(1);
    await second;
    expect(thread.run("run_1").reason).toBe("deadline_exceeded");
  });

  test("tells tools that run to stop, closes each call once, and records what comes later as late", async () => {
    const told: string[] = [];
    const gate = Promise.withResolvers<string>();
    const world = new World();
    const slow = world.tool(
      "slow",
      "once",
      (_args, { signal }) => {
        signal.addEventListener("abort", () => told.push(String(signal.reason)));
        return gate.promise;
      },
      { limits: { timeoutMs: 60_000, maxResultBytes: 4_096, maxCallsPerRun: 100 } },
    );
    const quick = world.tool("quick", "read", () => "done");
    const { thread } = setup([ask(["slow"], ["quick"])], { tools: [slow, quick] });
    thread.send("go");
    const driven = thread.runtime.drive();
    await until(() => thread.of("tool.finished").length === 1);
    thread.timers.advance(MAX);
    await driven;
    expect(thread.run("run_1").reason).toBe("deadline_exceeded");
    expect(told).toHaveLength(1);
    expect(thread.of("tool.finished").at(-1)?.payload?.result).toMatchObject({
      status: "cancelled",
      code: "deadline_exceeded",
    });
    gate.resolve("too late");
    await until(() => thread.of("tool.late").length === 1);
    expect(thread.of("tool.finished")).toHaveLength(2);
    expect(thread.chainFault()).toBeNull();
  });

  test("ends at the deadline and not at the end of a back-off that is longer", async () => {
    const busy: readonly ScriptPart[] = [
      { error: "overloaded", retryable: true, retryAfterMs: 60_000 },
    ];
    const { thread, model } = setup([busy, say("never")]);
    thread.send("go");
    expect(await thread.runtime.drive()).toEqual({ next: "wait", at: thread.clock.now() + MAX });
    await thread.finish();
    expect(thread.run("run_1").reason).toBe("deadline_exceeded");
    expect(model.requests).toHaveLength(1);
  });

  test("keeps an answer that came with the last of its time, and a run without a limit has none", async () => {
    const held: readonly ScriptPart[] = [{ hold: true }, ...say("in time")];
    for (const maxWallMs of [MAX, null]) {
      const { thread, model } = setup([held], {
        manifest: { limits: { ...MANIFEST.limits, maxWallMs } },
      });
      thread.send("go");
      const driven = thread.runtime.drive();
      await until(() => model.waiting === 1);
      // The loop has nothing to do but to wait for it.
      for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
      if (maxWallMs === null) thread.timers.advance(30_000);
      // The clock passes the deadline, and nobody has looked yet when the answer is there.
      else thread.clock.advance(MAX + 5);
      model.release();
      await driven;
      expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "in time" });
    }
  });

  test("a kill at each boundary, and the deadline behind it: one outcome an intent, and the run has ended once", async () => {
    for (let target = 1; ; target += 1) {
      const boundary = new CrashBoundary(target);
      const world = new World();
      const tools = [world.tool("look", "read"), world.tool("pay", "once")];
      const { thread } = setup([ask(["look"], ["pay"]), say("done"), say("done")], {
        tools,
        boundary,
      });
      thread.send("go");
      await thread.runtime.drive().catch(() => undefined);
      if (boundary.crashedAt === null) break;
      const wasOver = thread.run("run_1").endSeq !== null;
      thread.boundary = { cross: () => undefined };
      thread.clock.advance(MAX);
      thread.reopen();
      await thread.finish();
      if (!wasOver) expect(thread.run("run_1").reason).toBe("deadline_exceeded");
      const ends = thread
        .types()
        .filter((type) => type.startsWith("run.") && type !== "run.started");
      expect(ends).toHaveLength(1);
      const intents = thread
        .events()
        .filter(({ type }) => type === "model.requested" || type === "tool.started");
      for (const { header } of intents) {
        const outcomes = thread
          .events()
          .filter(({ header: { cause }, type }) => cause === header.id && type !== "tool.late");
        expect(outcomes).toHaveLength(1);
      }
      expect(thread.chainFault()).toBeNull();
    }
  });
});
