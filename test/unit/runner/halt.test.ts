/** An operator's stop: what is out is closed or settles, nothing starts, and only a resume lets the thread go on. */
import { expect, test } from "vitest";
import { driveUntil } from "#test/crash/scenarios.ts";
import { Crash, CrashBoundary } from "#test/support/crash-boundary.ts";
import { ask, say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const STREAMING: readonly ScriptPart[] = [{ text: "half" }, { hang: true }];

test("[B10] [B11] a model call is cut off and recorded; the run goes on where it was", async () => {
  const model = new ScriptModel([STREAMING, say("whole")], { by: "call" });
  const thread = new ThreadHarness({ model });
  thread.send("go");
  await driveUntil(thread, () => model.waiting === 1);
  const halted = thread.halt();
  expect(halted).toMatchObject({ ok: true, value: { runId: "run_1", disposition: "recorded" } });
  expect(await thread.finish()).toEqual({ next: "idle" });
  expect(model.waiting).toBe(0);
  expect(thread.types().slice(-2)).toEqual(["thread.halted", "model.failed"]);
  expect(thread.of("thread.halted")[0]).toMatchObject({
    header: { run: "run_1", actor: "key_op" },
    payload: { reason: "it loops" },
  });
  expect(thread.of("model.failed")[0]?.payload).toMatchObject({
    code: "aborted",
    settlement: { estimated: true },
  });
  expect(thread.runtime.state.run).toMatchObject({ failures: 0, recoveries: 0 });

  thread.reopen();
  thread.clock.advance(3_600_000);
  expect(await thread.finish()).toEqual({ next: "idle" });
  expect(model.requests).toHaveLength(1);

  thread.resume();
  await thread.finish();
  expect(thread.run("run_1")).toMatchObject({ finish: "stop", text: "whole" });
  expect(model.requests).toHaveLength(2);
  expect(thread.chainFault()).toBeNull();
});

test("[B11] a tool that runs settles, its result is recorded, and no model is asked", async () => {
  let release: (sent: string) => void = () => undefined;
  const running = new Promise<string>((resolve) => (release = resolve));
  const world = new World();
  const send = world.tool("send", "once", () => running);
  const model = new ScriptModel([ask(["send"], ["look"]), say("sent")]);
  const thread = new ThreadHarness({ model, tools: [send, world.tool("look", "read")] });
  thread.send("go");
  await driveUntil(thread, () => world.executions.length === 2);
  thread.halt();
  release("it went out");
  expect(await thread.finish()).toEqual({ next: "idle" });
  const results = thread.of("tool.finished").map(({ payload }) => payload?.result.output);
  expect(results.toSorted()).toEqual(["it went out", "look done"]);
  expect(model.requests).toHaveLength(1);
  thread.resume();
  await thread.finish();
  expect(thread.run("run_1")).toMatchObject({ finish: "stop", text: "sent" });
  expect(world.executions).toHaveLength(2);
});

test("[B12] what would begin work is refused; what was acknowledged before is answered as it was", async () => {
  const model = new ScriptModel([say("hello"), say("again")]);
  const thread = new ThreadHarness({ model });
  thread.send("one", { key: "k1", messageId: "m1" });
  await thread.finish();
  thread.halt();
  const before = thread.types().length;
  for (const delivery of ["queue", "steer", "reject", "interrupt"] as const)
    expect(thread.send("two", { delivery })).toMatchObject({
      ok: false,
      error: { reason: "thread_halted", since: thread.clock.now() },
    });
  expect(thread.send("one", { key: "k1", messageId: "m1" })).toMatchObject({ ok: true });
  expect(thread.halt()).toMatchObject({ ok: true, value: { disposition: "unchanged" } });
  expect(thread.types()).toHaveLength(before);
  expect(thread.resume()).toMatchObject({ ok: true, value: { disposition: "recorded" } });
  expect(thread.resume()).toMatchObject({ ok: true, value: { disposition: "unchanged" } });
  thread.send("two");
  await thread.finish();
  expect(model.requests).toHaveLength(2);
});

test("[B12] a halted run can be cancelled, and what waited behind it does not start", async () => {
  const model = new ScriptModel([STREAMING, say("second")], { by: "call" });
  const thread = new ThreadHarness({ model });
  thread.send("go");
  await driveUntil(thread, () => model.waiting === 1);
  thread.send("next");
  thread.halt();
  expect(thread.cancel("run_1")).toMatchObject({ ok: true });
  expect(await thread.finish()).toEqual({ next: "idle" });
  expect(thread.run("run_1").status).toBe("cancelled");
  expect(thread.run("run_2").status).toBe("queued");
  expect(model.requests).toHaveLength(1);
  thread.resume();
  await thread.finish();
  expect(thread.run("run_2")).toMatchObject({ finish: "stop", text: "second" });
});

test("[B10] a person's decision is recorded while the thread is halted, and acted on after", async () => {
  const world = new World();
  const wire = world.tool("wire", "once", () => "wired", { approval: "always" });
  const thread = new ThreadHarness({
    model: new ScriptModel([ask(["wire"]), say("done")]),
    tools: [wire],
  });
  thread.send("go");
  await thread.runtime.drive();
  thread.halt();
  const [id = ""] = thread.openApprovals();
  expect(thread.decide(id, "approve")).toMatchObject({ ok: true });
  expect(await thread.finish()).toEqual({ next: "idle" });
  expect(world.executions).toHaveLength(0);
  thread.resume();
  await thread.finish();
  expect(world.executions).toHaveLength(1);
  expect(thread.run("run_1").text).toBe("done");
});

test("[B10] [B11] killed at any crossing, then halted: nothing runs until the resume, and nothing is lost", async () => {
  const script = [ask(["look"], ["pay"]), ask(["look", { again: true }]), say("done")];
  const start = (target: number) => {
    const world = new World();
    const model = new ScriptModel(script);
    const boundary = new CrashBoundary(target);
    const tools = [world.tool("look", "read"), world.tool("pay", "once")];
    return { world, model, boundary, thread: new ThreadHarness({ model, tools, boundary }) };
  };
  const baseline = start(0);
  baseline.thread.send("go");
  await baseline.thread.finish();
  for (let target = 1; target <= baseline.boundary.crossed.length; target += 1) {
    const { world, model, boundary, thread } = start(target);
    thread.send("go");
    await thread.finish().catch((error: unknown) => {
      if (!(error instanceof Crash)) throw error;
    });
    const where = `crossing ${target}: ${boundary.crashedAt?.point}`;
    thread.boundary = new CrashBoundary();
    thread.reopen();
    thread.halt();
    const effects = [world.executions.length, model.requests.length];
    thread.reopen();
    expect(await thread.finish(), where).toEqual({ next: "idle" });
    expect([world.executions.length, model.requests.length], where).toEqual(effects);
    thread.resume();
    await thread.finish();
    expect(thread.run("run_1"), where).toMatchObject({ status: "completed", text: "done" });
    expect(world.timesPerCall("pay"), where).toEqual(
      [1].slice(0, world.timesPerCall("pay").length),
    );
    expect(thread.chainFault(), where).toBeNull();
  }
});
