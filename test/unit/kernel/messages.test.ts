import { describe, expect, test } from "vitest";
import { MAX_STATE_BYTES } from "#kernel/decide.ts";
import { KernelDriver } from "#test/support/kernel-driver.ts";
import { MANIFEST } from "#test/support/kernel-fixture.ts";

const thread = (): KernelDriver => new KernelDriver().create();
const reason = (result: { ok: boolean; error?: { reason: string } }): string | undefined =>
  result.ok ? undefined : result.error?.reason;
const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

describe("a message", () => {
  test("[K3] to an idle thread starts its run in the same decision", () => {
    const driver = thread();
    expect(value(driver.send("hi")).disposition).toBe("started");
    expect(driver.types()).toEqual([
      "thread.created",
      "definition.pinned",
      "input.received",
      "run.started",
    ]);
    expect(driver.last("run.started").payload?.inputs).toEqual([3]);
  });

  test("[K3] to a busy thread is queued, and its run begins when the live one has ended", () => {
    const driver = thread();
    driver.send("one");
    const queued = value(driver.send("two"));
    expect(queued.disposition).toBe("queued");
    driver.pumpAll();
    driver.answer({ text: "1" });
    driver.pumpAll();
    expect(driver.types().slice(4)).toEqual([
      "input.received",
      "model.requested",
      "model.answered",
      "run.completed",
      "run.started",
      "model.requested",
    ]);
    expect(driver.state.run?.runId).toBe(queued.runId);
    expect(driver.prompts.at(-1)?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });

  test("[K3] that steers enters the live run at its next step, after the results of the step at hand", () => {
    const driver = thread();
    driver.send("one");
    driver.pumpAll();
    expect(value(driver.send("hurry", { delivery: "steer" })).disposition).toBe("steered");
    driver.answer({ calls: [{ name: "look" }] });
    driver.pumpAll();
    driver.finishTool();
    driver.pumpAll();
    expect(driver.prompts.at(-1)?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
    ]);
    expect(driver.last("model.requested").payload?.steered).toHaveLength(1);
  });

  test("[K3] that steers during the last answer is answered before the run ends", () => {
    const driver = thread();
    driver.send("one");
    driver.pumpAll();
    driver.send("also this", { delivery: "steer" });
    driver.answer({ text: "done" });
    driver.pumpAll();
    expect(driver.types().at(-1)).toBe("model.requested");
    expect(driver.types()).not.toContain("run.completed");
  });

  test("[K3] that steers too late gets a run of its own and is not lost", () => {
    const driver = new KernelDriver({ limits: { ...MANIFEST.limits, maxSteps: 1 } }).create();
    const first = value(driver.send("one"));
    driver.pumpAll();
    driver.send("too late", { delivery: "steer" });
    driver.answer({ text: "done" });
    driver.pumpAll();
    expect(driver.last("run.completed").header.run).toBe(first.runId);
    expect(driver.state.run?.runId).toBe(
      `${first.runId}-s${driver.last("run.started").payload?.inputs[0]}`,
    );
    expect(driver.prompts.at(-1)?.messages.at(-1)).toEqual({
      role: "user",
      content: [{ type: "text", text: "too late" }],
    });
  });

  test("[K3] that steers but asks for its own output is queued, because one run has one output", () => {
    const driver = thread();
    driver.send("one");
    const sent = driver.send("two", { delivery: "steer", output: { name: "o", schema: {} } });
    expect(value(sent).disposition).toBe("queued");
  });

  test("[K3] with delivery reject is refused while a run is live, and changes nothing", () => {
    const driver = thread();
    driver.send("one");
    const before = driver.events.length;
    expect(reason(driver.send("two", { delivery: "reject" }))).toBe("run_active");
    expect(driver.events).toHaveLength(before);
  });

  test("[K3] beyond the queue's limit is refused as queue_full", () => {
    const driver = thread();
    driver.send("live");
    for (let i = 0; i < MANIFEST.limits.maxQueuedInputs; i += 1)
      expect(driver.send("more").ok).toBe(true);
    expect(reason(driver.send("too many"))).toBe("queue_full");
  });

  test.each(["queue", "steer"] as const)(
    "[K2] sent again with its id (%s) changes nothing and gives its run",
    (delivery) => {
      const driver = thread();
      const first = value(driver.send("one", { messageId: "m1" }));
      driver.send("two", { messageId: "m2", delivery });
      const before = driver.events.length;
      expect(value(driver.send("one", { messageId: "m1" }))).toEqual({
        runId: first.runId,
        messageId: "m1",
        disposition: "unchanged",
      });
      expect(value(driver.send("two", { messageId: "m2", delivery })).disposition).toBe(
        "unchanged",
      );
      expect(driver.events).toHaveLength(before);
    },
  );

  test("[P60] that brings functions joins no other run", () => {
    const driver = thread();
    driver.send("one");
    expect(value(driver.send("two", { delivery: "steer", separate: true })).disposition).toBe(
      "queued",
    );
  });

  test("[P61] comes behind the history that its client reports; while a run is live it is refused", () => {
    const driver = thread();
    driver.send("two", { history: "one" });
    driver.pumpAll();
    const texts = driver.prompts.at(-1)?.messages.map(({ content }) => JSON.stringify(content));
    expect(texts?.[0]).toContain('kind=\\"history\\">\\none');
    expect(texts?.[1]).toContain("two");
    const before = driver.events.length;
    expect(reason(driver.send("three", { history: "x" }))).toBe("run_active");
    expect(driver.events).toHaveLength(before);
  });

  test("[K18] pins a definition once, and a run keeps it when the agent changes under it", () => {
    const driver = thread();
    driver.send("one");
    driver.command({
      type: "send_message",
      messageId: "m9",
      runId: "run_new",
      text: "two",
      delivery: "queue",
      output: null,
      manifest: { ...MANIFEST, instructions: "Be new." },
      definition: "def2",
    });
    driver.pumpAll();
    driver.answer({ calls: [{ name: "look" }] });
    driver.pumpAll();
    driver.finishTool();
    driver.pumpAll();
    expect(driver.last("model.requested").header.definition).toBe("def1");
    driver.answer({ text: "done" });
    driver.pumpAll();
    expect(driver.last("model.requested").header).toMatchObject({
      definition: "def2",
      run: "run_new",
    });
    expect(driver.types().filter((type) => type === "definition.pinned")).toHaveLength(2);
  });

  test("[K3] of nothing but blanks is refused", () => {
    expect(reason(thread().send(" \n"))).toBe("message_empty");
  });
});

describe("other commands", () => {
  test("[Z4] a thread has its owner, once, before anything else is accepted", () => {
    const driver = new KernelDriver();
    expect(reason(driver.send("hi"))).toBe("thread_missing");
    driver.create();
    expect(reason(driver.command({ type: "create_thread", owner: "u2", title: null }))).toBe(
      "thread_exists",
    );
    expect(driver.state.owner).toBe("u1");
  });

  test("[L8] a state above its limit is refused, and the one before stays", () => {
    const driver = thread();
    driver.command({ type: "set_state", state: { a: 1 }, bytes: MAX_STATE_BYTES });
    expect(
      reason(driver.command({ type: "set_state", state: { a: 2 }, bytes: MAX_STATE_BYTES + 1 })),
    ).toBe("state_too_large");
    expect(driver.state.shared).toEqual({ a: 1 });
  });

  test("[K1] file commands are acknowledged for the events that they append", () => {
    const driver = thread();
    driver.command({ type: "write_file", path: "a.txt", digest: "d", bytes: 3 });
    driver.command({ type: "delete_file", path: "a.txt" });
    expect(driver.types().slice(1)).toEqual(["file.written", "file.deleted"]);
  });
});

describe("cancellation", () => {
  test("[K16] closes open and pending calls with one result each and ends the run, in one decision", () => {
    const driver = thread();
    const { runId } = value(driver.send("one"));
    driver.pumpAll();
    driver.answer({ calls: [{ name: "pay" }, { name: "look" }] });
    const [start] = driver.effects();
    expect(start?.type).toBe("call_tool");
    driver.pump();
    driver.finishTool({
      callId: driver.flights[1]?.effect.type === "call_tool" ? driver.flights[1].effect.callId : "",
    });
    const before = driver.events.length;
    expect(value(driver.cancel(runId ?? "")).disposition).toBe("recorded");
    expect(driver.types().slice(before)).toEqual([
      "run.cancel_requested",
      "tool.finished",
      "run.cancelled",
    ]);
    expect(driver.last("tool.finished").payload?.result).toMatchObject({
      status: "cancelled",
      code: "cancelled_outcome_unknown",
    });
    expect(driver.state.run).toBeNull();
    expect(driver.effects()).toEqual([]);
  });

  test("[K16] says of a call that was not started that it was not executed", () => {
    const driver = thread();
    const { runId } = value(driver.send("one"));
    driver.pumpAll();
    driver.answer({ calls: [{ name: "pay" }] });
    driver.cancel(runId ?? "");
    expect(driver.last("tool.refused").payload?.refusal.code).toBe("run_cancelled");
    expect(driver.last("tool.refused").payload?.refusal.message).toContain("not executed");
    expect(driver.types()).not.toContain("tool.started");
  });

  test("[K16] closes an open model attempt as aborted, with what it reserved as its estimated cost", () => {
    const driver = thread();
    const { runId } = value(driver.send("one"));
    driver.pumpAll();
    driver.cancel(runId ?? "");
    expect(driver.last("model.failed").payload).toMatchObject({
      code: "aborted",
      retryAt: null,
      settlement: { estimated: true },
    });
    expect(driver.types().at(-1)).toBe("run.cancelled");
  });

  test("[K16] records a late result on its run, where no prompt sees it", () => {
    const driver = thread();
    const { runId } = value(driver.send("one"));
    driver.pumpAll();
    driver.answer({ calls: [{ name: "pay" }] });
    driver.pumpAll();
    driver.cancel(runId ?? "");
    expect(driver.state.abandoned).toHaveLength(1);
    driver.deliverZombie(0);
    expect(driver.last("tool.late").header.run).toBe(runId);
    expect(driver.state.abandoned).toEqual([]);
    driver.send("next");
    driver.pumpAll();
    expect(JSON.stringify(driver.prompts.at(-1)?.messages)).not.toContain("late");
  });

  test("[K16] of a queued run takes it from the queue; of an unknown one is refused", () => {
    const driver = thread();
    driver.send("one");
    const queued = value(driver.send("two"));
    expect(driver.cancel(queued.runId ?? "").ok).toBe(true);
    expect(driver.state.queue).toEqual([]);
    expect(reason(driver.cancel(queued.runId ?? ""))).toBe("run_unknown");
  });
});
