import { describe, expect, test } from "vitest";
import type { ThreadDraft, ThreadEvent } from "#kernel/events.ts";
import type { EventScope } from "#ports/event-log.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { LogCorruption } from "#kernel/log-corruption.ts";
import { isWaitingForHumans } from "#kernel/state.ts";
import { KernelDriver } from "#test/support/kernel-driver.ts";

const EXPIRES = 50_000;

/** Two calls of one step, of which the first waits for a person. */
function waiting(): { driver: KernelDriver; scope: (call?: number) => EventScope } {
  const driver = new KernelDriver().create();
  driver.send("go");
  driver.pumpAll();
  driver.answer({ calls: [{ name: "pay" }, { name: "look" }] });
  const calls = driver.effects().flatMap((effect) => (effect.type === "call_tool" ? [effect] : []));
  const scope = (call = 0) => {
    const { runId, definition, step, callId } = calls[call] ?? calls[0]!;
    return { run: runId, definition, step, call: callId };
  };
  driver.append([request(scope())]);
  return { driver, scope };
}
function request(scope: EventScope): ThreadDraft {
  const payload = {
    kind: "tool",
    tool: "pay",
    version: "1",
    binding: "b",
    proposal: "p",
    args: {},
    question: null,
    answerSchema: null,
    expiresAt: EXPIRES,
  } as const;
  return { type: "approval.requested", id: "evt_ask", payload, scope };
}
type Decision = Extract<ThreadEvent, { type: "approval.decided" }>["payload"];
function decision(
  scope: EventScope,
  made: NonNullable<Decision>["decision"] = "approved",
  cause = "evt_ask",
): ThreadDraft {
  const payload = { decision: made, comment: null, answer: null };
  return { type: "approval.decided", payload, scope: { ...scope, cause, actor: "u1" } };
}
function started(scope: EventScope): ThreadDraft {
  return {
    type: "tool.started",
    payload: {
      name: "pay",
      version: "1",
      args: {},
      effect: "once",
      idempotencyKey: "k",
      mode: "execute",
      verdicts: { policy: "", guardrail: "", loopGuard: "" },
      reservation: { costMicros: 0, tokens: 0 },
    },
    scope: { ...scope, attempt: 1 },
  };
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
const refused: ThreadDraft = {
  type: "tool.refused",
  payload: { name: "pay", refusal: { code: "denied_by_human", message: "no" } },
};

describe("a call that waits", () => {
  test("[A5] starts nothing itself, holds up no other call, and the step only once the others are closed", () => {
    const { driver } = waiting();
    const run = () => driver.state.run!;
    expect(driver.effects().map(({ type }) => type)).toEqual(["call_tool", "wait_until"]);
    expect(isWaitingForHumans(run())).toBe(false);
    driver.pump();
    expect(isWaitingForHumans(run())).toBe(false);
    driver.finishTool();
    expect(isWaitingForHumans(run())).toBe(true);
    expect(driver.effects()).toEqual([{ type: "wait_until", at: EXPIRES }]);
  });

  test("[A7] expires at its time, as records that close it", () => {
    const { driver } = waiting();
    driver.pump();
    driver.finishTool();
    driver.now = EXPIRES;
    driver.pump();
    driver.pump();
    expect(driver.types().slice(-2)).toEqual(["approval.decided", "tool.refused"]);
    expect(driver.last("tool.refused").payload?.refusal.code).toBe("approval_expired");
    expect(driver.effects()[0]?.type).toBe("call_model");
  });

  test("[A2] approved, it is started with its approval named; denied, it is only refused", () => {
    const approved = waiting();
    approved.driver.append([decision(approved.scope())]);
    expect(approved.driver.effects()[0]).toMatchObject({
      type: "call_tool",
      name: "pay",
      approval: { approvalId: "evt_ask" },
    });
    const denied = waiting();
    denied.driver.append([decision(denied.scope(), "denied")]);
    expect(denied.driver.effects()[0]).toMatchObject({
      type: "record",
      drafts: [{ type: "tool.refused" }],
    });
  });

  test("[A6] [K7] is closed with one decision and one result when its run is cancelled", () => {
    const { driver } = waiting();
    driver.cancel(driver.state.run?.runId ?? "");
    expect(driver.types().slice(-5)).toEqual([
      "run.cancel_requested",
      "approval.decided",
      "tool.refused",
      "tool.refused",
      "run.cancelled",
    ]);
    expect(driver.last("approval.decided").payload?.decision).toBe("cancelled");
  });
});

describe("[K14] a log that a single writer cannot have written", () => {
  const cases: readonly (readonly [
    string,
    string,
    (scope: (call?: number) => EventScope) => readonly ThreadDraft[],
  ])[] = [
    ["call_already_started", "starts a call that waits (T10)", (scope) => [started(scope())]],
    [
      "call_already_started",
      "refuses a call that waits",
      (scope) => [{ ...refused, scope: scope() }],
    ],
    ["call_already_started", "asks twice", (scope) => [request(scope())]],
    ["approval_not_open", "decides what was never asked", (scope) => [decision(scope(1))]],
    [
      "approval_not_open",
      "decides another approval",
      (scope) => [decision(scope(), "approved", "x")],
    ],
    ["approval_not_open", "decides twice (A3)", (scope) => [decision(scope()), decision(scope())]],
    [
      "phase_unexpected",
      "starts what was denied",
      (scope) => [decision(scope(), "denied"), started(scope())],
    ],
    [
      "phase_unexpected",
      "asks again what was approved",
      (scope) => [decision(scope()), request(scope())],
    ],
    ["call_unknown", "asks about no call", (scope) => [request({ ...scope(), call: "call_none" })]],
  ];
  test.each(cases)("[K14] %s: %s", (reason, _name, drafts) => {
    const { driver, scope } = waiting();
    expect(reasonOf(() => driver.append(drafts(scope)))).toBe(reason);
  });
});

test.each(["approved", "denied", "expired"] as const)(
  "[L4] [A3] a thread folds with its approval erased, when it was %s",
  (made) => {
    const { driver, scope } = waiting();
    driver.append([decision(scope(), made)]);
    driver.pumpAll();
    while (driver.flights.length > 0) {
      if (driver.flightOf("call_tool") === undefined) driver.answer({ text: "done" });
      else driver.finishTool();
      driver.pumpAll();
    }
    const erased = driver.events.map((event): ThreadEvent =>
      event.type.startsWith("approval.") ? { ...event, payload: null } : event,
    );
    const state = erased.reduce(THREAD_FOLD.evolve, THREAD_FOLD.initial());
    expect(state).toEqual(driver.state);
    expect(state.run).toBeNull();
  },
);

test("[A3] a later attempt changes nothing but the position", () => {
  const { driver, scope } = waiting();
  driver.append([decision(scope())]);
  const before = driver.state;
  const outcome = driver.command({
    type: "refuse_approval",
    approvalId: "evt_ask",
    attempted: "deny",
    refusal: "approval_already_decided",
  });
  expect(outcome.ok).toBe(true);
  expect(driver.state).toEqual({ ...before, seq: before.seq + 1 });
  expect(driver.last("approval.refused").header).toMatchObject({ actor: "u1", cause: "evt_ask" });
});
