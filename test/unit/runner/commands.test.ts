import { describe, expect, test } from "vitest";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import type { CommandContext } from "#kernel/commands.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { openNodeLog } from "#test/support/node-log.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { hangUntilAborted, World } from "#test/support/world.ts";

const context = (overrides: Partial<CommandContext> = {}): CommandContext => ({
  actor: "usr_1",
  idempotencyKey: null,
  bodyDigest: "d1",
  ...overrides,
});
const quiet = (): ThreadHarness =>
  new ThreadHarness({ model: new ScriptModel([say("hi"), say("again")]) });

describe("acknowledgement", () => {
  test("[K1] a command is durable when it is acknowledged: a process that dies at once still runs it", async () => {
    const thread = quiet();
    const receipt = thread.send("go");
    expect(receipt).toEqual({
      ok: true,
      value: { seq: 4, runId: "run_1", messageId: "msg_1", disposition: "started" },
    });
    thread.reopen();
    await thread.finish();
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "hi" });
  });

  test("[K1] [L2] a command whose content cannot be stored leaves nothing: no event, no receipt", () => {
    const thread = quiet();
    const head = thread.log.head().seq;
    const command = {
      type: "write_file",
      path: "a.txt",
      digest: "0".repeat(64),
      bytes: 1,
    } as const;
    const failing = (): void => {
      throw new Error("disk full");
    };
    expect(() => thread.runtime.submit(command, context({ idempotencyKey: "k" }), failing)).toThrow(
      "disk full",
    );
    expect(thread.log.head().seq).toBe(head);
    expect(thread.runtime.submit(command, context({ idempotencyKey: "k" }))).toMatchObject({
      ok: true,
      value: { seq: head + 1 },
    });
  });
});

describe("idempotency", () => {
  test("[K2] the same key again answers the first receipt and changes nothing, also after the run ended and a restart", async () => {
    const thread = quiet();
    const first = thread.send("go", { key: "k1" });
    await thread.finish();
    thread.reopen();
    const head = thread.log.head().seq;
    expect(thread.send("go", { key: "k1", messageId: "msg_other", runId: "run_other" })).toEqual(
      first,
    );
    expect(thread.log.head().seq).toBe(head);
  });

  test("[K2] the same key with another body is a conflict", () => {
    const thread = quiet();
    thread.send("go", { key: "k1" });
    expect(thread.send("stop", { key: "k1" })).toEqual({
      ok: false,
      error: { reason: "idempotency_conflict" },
    });
  });

  test("[K2] the same message id is the same message, without any key", async () => {
    const thread = quiet();
    const first = thread.send("go", { messageId: "m1" });
    await thread.finish();
    expect(thread.send("go", { messageId: "m1" })).toEqual(first);
    expect(thread.send("other words", { messageId: "m1" })).toMatchObject({
      ok: false,
      error: { reason: "idempotency_conflict" },
    });
    expect(thread.of("input.received")).toHaveLength(1);
  });

  test("[K2] a key belongs to its principal: another's command of the same key is its own", () => {
    const thread = quiet();
    const set = (actor: string, state: string): unknown =>
      thread.runtime.submit(
        { type: "set_state", state, bytes: 1 },
        context({ actor, idempotencyKey: "k", bodyDigest: state }),
      );
    expect(set("usr_1", "one")).toMatchObject({ ok: true });
    expect(set("svc_2", "two")).toMatchObject({ ok: true });
    expect(thread.runtime.state.shared).toBe("two");
  });

  test("[K2] a refused command stores no receipt: it may be accepted later under its key", async () => {
    const thread = quiet();
    thread.send("go");
    expect(
      thread.send("more", { key: "k", delivery: "reject", messageId: "m2", runId: "run_2" }),
    ).toMatchObject({ ok: false, error: { reason: "run_active" } });
    await thread.finish();
    expect(
      thread.send("more", { key: "k", delivery: "reject", messageId: "m2", runId: "run_2" }),
    ).toMatchObject({ ok: true });
  });
});

describe("cancel", () => {
  test("[K16] cancelling ends the run in the command itself, closes its calls, stops the outside and calls no model", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["slow"], ["fast"])]);
    let aborted: unknown = null;
    const slow = world.tool("slow", "once", async (args, toolContext) => {
      toolContext.signal.addEventListener("abort", () => (aborted = toolContext.signal.reason));
      return hangUntilAborted(args, toolContext);
    });
    const thread = new ThreadHarness({ model, tools: [slow, world.tool("fast", "read")] });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => thread.of("tool.finished").length).toBe(1);
    expect(thread.cancel("run_1")).toMatchObject({ ok: true });
    expect(thread.run("run_1")).toMatchObject({ status: "cancelled" });
    expect(aborted).toMatchObject({ name: "AbortError" });
    await driving;
    expect(model.requests).toHaveLength(1);
    expect(thread.of("tool.finished").map(({ payload }) => payload?.result.status)).toEqual([
      "ok",
      "cancelled",
    ]);
  });

  test("[K16] a model that is being read is aborted, and its answer is never recorded", async () => {
    const model = new ScriptModel([[{ text: "half" }, { hang: true }]]);
    const thread = new ThreadHarness({ model });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => model.waiting).toBe(1);
    thread.cancel("run_1");
    await driving;
    await expect.poll(() => model.waiting).toBe(0);
    expect(thread.types()).not.toContain("model.answered");
    expect(thread.types().slice(-3)).toEqual([
      "run.cancel_requested",
      "model.failed",
      "run.cancelled",
    ]);
  });

  test("[K3] the queue goes on after a cancel", async () => {
    const model = new ScriptModel([[{ hang: true }], say("second")], { by: "call" });
    const thread = new ThreadHarness({ model });
    thread.send("one");
    thread.send("two");
    const driving = thread.finish();
    await expect.poll(() => model.waiting).toBe(1);
    thread.cancel("run_1");
    await driving;
    expect(thread.run("run_2")).toMatchObject({ status: "completed", text: "second" });
  });
});

describe("driving", () => {
  test("[K3] a message that arrives while the thread is driven is picked up by that drive; turns never interleave", async () => {
    const model = new ScriptModel([[{ hold: true }, ...say("one")], say("two")]);
    const thread = new ThreadHarness({ model });
    thread.send("first");
    const driving = thread.runtime.drive();
    await expect.poll(() => model.waiting).toBe(1);
    thread.send("second");
    expect(thread.runtime.drive()).toBe(driving);
    model.release();
    await driving;
    expect([thread.run("run_1").text, thread.run("run_2").text]).toEqual(["one", "two"]);
    expect(thread.run("run_2").startSeq).toBeLessThan(thread.run("run_1").endSeq ?? 0);
    expect(thread.of("run.started")[1]?.header.seq).toBeGreaterThan(
      thread.run("run_1").endSeq ?? Infinity,
    );
  });

  test("[K3] a message that steers enters the next request of the running run", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["wait"]), say("adjusted")]);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("wait", "read", async () => held.then(() => "ok"))],
    });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => world.executions.length).toBe(1);
    expect(thread.send("but in blue", { delivery: "steer" })).toMatchObject({
      ok: true,
      value: { disposition: "steered", runId: "run_1" },
    });
    release();
    await driving;
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("but in blue");
    expect(thread.listRuns()).toHaveLength(1);
  });

  test("[K6] a failed attempt waits for its retry as a time, not in memory, and a restart keeps it", async () => {
    const model = new ScriptModel([[{ error: "rate_limited", retryAfterMs: 5_000 }], say("ok")], {
      by: "call",
    });
    const thread = new ThreadHarness({ model });
    thread.send("go");
    const now = thread.clock.now();
    const waits = await thread.runtime.drive();
    const at = waits.next === "wait" ? waits.at : 0;
    expect(at).toBeGreaterThanOrEqual(now + 5_000);
    thread.reopen();
    expect(await thread.runtime.drive()).toEqual({ next: "wait", at });
    expect(model.requests).toHaveLength(1);
    thread.clock.set(at);
    expect(await thread.runtime.drive()).toEqual({ next: "idle" });
    expect(thread.run("run_1").text).toBe("ok");
  });

  test("[L9] snapshots are taken while the outside is busy, and a thread opened from one goes on", async () => {
    const world = new World();
    const model = new ScriptModel([
      ...Array.from({ length: 60 }, (_, index) => ask(["look", { index }])),
      say("done"),
    ]);
    const limits = { maxSteps: 100, maxCostMicros: null, maxTokens: null, maxQueuedInputs: 1 };
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("look", "read")],
      manifest: { limits },
    });
    thread.send("go");
    await thread.finish();
    expect(thread.database.exec("SELECT count(*) AS n FROM snapshots")[0]?.["n"]).toBeGreaterThan(
      0,
    );
    const { state } = thread.runtime;
    thread.reopen();
    expect(thread.runtime.state).toEqual(state);
    expect(thread.run("run_1").text).toBe("done");
  });
});

describe("read-only", () => {
  test("[L6] a log with an event the code does not know can be read, takes no command and drives nothing", async () => {
    const thread = quiet();
    thread.send("go");
    const future = {
      ...THREAD_CATALOGUE,
      versions: { ...THREAD_CATALOGUE.versions, "state.set": 9 },
    };
    const { log } = openNodeLog(future, {}, thread.database);
    log.append([{ type: "state.set", payload: { state: 1 } }], { at: thread.clock.now() });
    thread.reopen();
    expect(thread.runtime.mode).toMatchObject({ writable: false, reason: "log_newer_than_code" });
    expect(thread.send("more")).toMatchObject({
      ok: false,
      error: { reason: "read_only", code: "log_newer_than_code" },
    });
    expect(await thread.runtime.drive()).toEqual({ next: "idle" });
    expect(thread.events().length).toBeGreaterThan(4);
  });

  test("[L6] a log with known events after one that the code does not know still knows its owner", async () => {
    const thread = quiet();
    thread.send("go");
    const { owner } = thread.runtime.state;
    const future = {
      ...THREAD_CATALOGUE,
      versions: { ...THREAD_CATALOGUE.versions, "state.set": 9 },
    };
    const { log } = openNodeLog(future, {}, thread.database);
    log.append([{ type: "state.set", payload: { state: 1 } }], { at: thread.clock.now() });
    log.append([{ type: "plan.updated", payload: { items: [] } }], { at: thread.clock.now() });
    thread.reopen();
    expect(thread.runtime.mode).toMatchObject({ writable: false, reason: "log_newer_than_code" });
    expect(owner).not.toBeNull();
    expect(thread.runtime.state.owner).toBe(owner);
    expect(await thread.runtime.drive()).toEqual({ next: "idle" });
  });

  test("[K14] a log that no single writer wrote opens read-only as log_corrupt", async () => {
    const thread = quiet();
    thread.log.append(
      [
        {
          type: "run.completed",
          payload: { finish: "stop", text: "", output: null },
          scope: { run: "run_9" },
        },
      ],
      { at: 1 },
    );
    thread.reopen();
    expect(thread.runtime.mode).toMatchObject({ writable: false, reason: "log_corrupt" });
    expect(thread.send("more")).toMatchObject({
      ok: false,
      error: { reason: "read_only", code: "log_corrupt" },
    });
  });

  test("[L4] erasing through the runtime leaves nothing in memory: the next prompt has the placeholder", async () => {
    const model = new ScriptModel([say("noted"), say("bye")]);
    const thread = new ThreadHarness({ model });
    thread.send("my number is 12345");
    await thread.finish();
    const [input] = thread.of("input.received");
    expect(thread.runtime.erase([input?.header.seq ?? 0])).toEqual({ erased: 1, alreadyErased: 0 });
    thread.send("and now");
    await thread.finish();
    expect(JSON.stringify(model.requests[1])).not.toContain("12345");
    expect(JSON.stringify(model.requests[1])).toContain("(erased)");
    expect(thread.chainFault()).toBeNull();
  });
});
