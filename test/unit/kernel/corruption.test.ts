import { describe, expect, test } from "vitest";
import type { EventHeader } from "#ports/event-log.ts";
import type { ThreadDraft, ThreadEvent } from "#kernel/events.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { LogCorruption } from "#kernel/log-corruption.ts";
import { KernelDriver } from "#test/support/kernel-driver.ts";
import { toEvent } from "#test/support/kernel-fixture.ts";

function inRound(): KernelDriver {
  const driver = new KernelDriver().create();
  driver.send("go");
  driver.pumpAll();
  driver.answer({ calls: [{ name: "put" }, { name: "look" }] });
  driver.pumpAll();
  return driver;
}
function reasonOf(work: () => void): string {
  try {
    work();
  } catch (error) {
    if (error instanceof LogCorruption) return error.reason;
    throw error;
  }
  return "accepted";
}
const SETTLED = { costMicros: 0, tokens: 0, estimated: false };
const finished: Omit<Extract<ThreadDraft, { type: "tool.finished" }>, "scope"> = {
  type: "tool.finished",
  payload: {
    result: { status: "ok", code: null, output: "x", bytes: 1, handle: null },
    settlement: SETTLED,
  },
};

describe("a log that a single writer cannot have written is refused", () => {
  test.each([
    ["seq_gap", { seq: 99 }],
    ["epoch_regressed", { epoch: 0 }],
  ] as const)("[K14] %s", (reason, change: Partial<EventHeader>) => {
    const driver = inRound();
    const event = toEvent(
      { type: "file.deleted", payload: { path: "a" } },
      { seq: driver.events.length + 1, at: 0, epoch: 1, id: "e" },
    );
    const bad: ThreadEvent = { ...event, header: { ...event.header, ...change } };
    expect(reasonOf(() => THREAD_FOLD.evolve(driver.state, bad))).toBe(reason);
  });

  const run = (driver: KernelDriver): string => driver.state.run?.runId ?? "";
  const call = (driver: KernelDriver) => driver.last("tool.started").header;
  const cases: readonly (readonly [string, string, (driver: KernelDriver) => ThreadDraft])[] = [
    [
      "thread_created_twice",
      "a second creation",
      () => ({ type: "thread.created", payload: { owner: "x", title: null } }),
    ],
    [
      "run_already_live",
      "a second live run",
      () => ({
        type: "run.started",
        payload: { inputs: [3] },
        scope: { run: "r2", definition: "def1" },
      }),
    ],
    [
      "run_not_live",
      "an end of a run that is not live",
      () => ({
        type: "run.failed",
        payload: { reason: "internal", message: "" },
        scope: { run: "r2" },
      }),
    ],
    [
      "calls_still_open",
      "an end over open calls",
      (d) => ({
        type: "run.failed",
        payload: { reason: "internal", message: "" },
        scope: { run: run(d) },
      }),
    ],
    [
      "intent_not_open",
      "an answer without a request",
      (d) => ({
        type: "model.interrupted",
        payload: { settlement: SETTLED },
        scope: { run: run(d), step: 1, attempt: 1 },
      }),
    ],
    [
      "call_unknown",
      "a result of a call nobody made",
      (d) => ({ ...finished, scope: { run: run(d), step: 1, call: "c99" } }),
    ],
    [
      "intent_not_open",
      "a result of another intent",
      (d) => ({ ...finished, scope: { run: run(d), step: 1, call: call(d).call, cause: "evt_0" } }),
    ],
    [
      "step_unexpected",
      "a result of another step",
      (d) => ({
        ...finished,
        scope: { run: run(d), step: 2, call: call(d).call, cause: call(d).id },
      }),
    ],
    [
      "call_already_started",
      "a refusal of a call that runs",
      (d) => ({
        type: "tool.refused",
        payload: { name: "look", refusal: { code: "loop_guard", message: "" } },
        scope: { run: run(d), step: 1, call: call(d).call },
      }),
    ],
    [
      "definition_not_pinned",
      "an input of an unknown definition",
      () => ({
        type: "input.received",
        payload: { messageId: "m", text: "t", delivery: "queue", output: null },
        scope: { run: "r2", definition: "nope" },
      }),
    ],
    [
      "run_unnamed",
      "an input of no run",
      () => ({
        type: "input.received",
        payload: { messageId: "m", text: "t", delivery: "queue", output: null },
      }),
    ],
    [
      "run_not_live",
      "a cancellation of a run that is not queued",
      () => ({ type: "run.cancelled", payload: { reason: "" }, scope: { run: "r2" } }),
    ],
  ];
  test.each(cases)("[K14] %s: %s", (reason, _title, draft) => {
    const driver = inRound();
    expect(reasonOf(() => driver.append([draft(driver)]))).toBe(reason);
  });

  test("[K14] call_not_open: a second result of a call", () => {
    const driver = inRound();
    const scope = { run: run(driver), step: 1, call: call(driver).call, cause: call(driver).id };
    driver.append([{ ...finished, scope }]);
    expect(reasonOf(() => driver.append([{ ...finished, scope }]))).toBe("call_not_open");
  });

  test("[K14] call_already_started and idempotency_key_changed: a second start, or one under another key", () => {
    const driver = inRound();
    const first = driver.last("tool.started");
    const { runId } = driver.state.run ?? { runId: "" };
    const payload = first.payload;
    if (payload === null) throw new Error("the start has a payload");
    const scope = { run: runId, step: 1, call: first.header.call, attempt: 2 };
    expect(reasonOf(() => driver.append([{ type: "tool.started", payload, scope }]))).toBe(
      "call_already_started",
    );
    driver.crash();
    driver.pump();
    expect(
      reasonOf(() =>
        driver.append([
          { type: "tool.started", payload: { ...payload, idempotencyKey: "k2" }, scope },
        ]),
      ),
    ).toBe("idempotency_key_changed");
  });

  test("[K14] attempt_unexpected and refs_unknown: a request out of turn", () => {
    const driver = new KernelDriver().create();
    driver.send("go");
    driver.pumpAll();
    const { payload, header } = driver.last("model.requested");
    if (payload === null) throw new Error("the request has a payload");
    driver.failModel("overloaded", 0);
    const scope = { run: header.run, definition: "def1", step: 1 };
    expect(
      reasonOf(() =>
        driver.append([{ type: "model.requested", payload, scope: { ...scope, attempt: 1 } }]),
      ),
    ).toBe("attempt_unexpected");
    const refs = { base: null, drop: 0, add: [[77, 0, 0]] } as const;
    expect(
      reasonOf(() =>
        driver.append([
          {
            type: "model.requested",
            payload: { ...payload, refs },
            scope: { ...scope, attempt: 2 },
          },
        ]),
      ),
    ).toBe("refs_unknown");
  });

  test("[K14] thread_not_created: anything before the creation", () => {
    const event = toEvent(
      { type: "file.deleted", payload: { path: "a" } },
      { seq: 1, at: 0, epoch: 1, id: "e" },
    );
    expect(reasonOf(() => THREAD_FOLD.evolve(THREAD_FOLD.initial(), event))).toBe(
      "thread_not_created",
    );
  });
});
