/**
 * How a run ends early: every open intent gets its one outcome and every call its one result, in the same decision that
 * ends the run, so that no prompt ever lacks a result (K7, K16).
 */
import type { Json } from "#shared/json.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { ApprovalDecision, RunFailure, Settlement, ThreadDraft } from "./events.ts";
import type { CallApproval, CallState, RunState } from "./state.ts";

export const NO_SETTLEMENT: Settlement = { costMicros: 0, tokens: 0, estimated: false };

export function runScope(run: RunState): EventScope {
  return { run: run.runId, definition: run.definition };
}

export function callScope(run: RunState, call: CallState): EventScope {
  const scope = { ...runScope(run), step: run.step, call: call.callId };
  return call.intent === null
    ? scope
    : { ...scope, attempt: call.attempts, cause: call.intent.intentId };
}

/** Outcome of a model attempt that will never report: its reservation is taken as spent, marked as an estimate (G12). */
export function lostAttempt(
  run: RunState,
): { readonly scope: EventScope; readonly settlement: Settlement } | null {
  if (run.phase.type !== "model_open") return null;
  const { intent } = run.phase;
  const { maxOutputTokens, route, priceVersion, leaseId } = intent;
  const { wallMs: _, ...reserved } = intent.reserved;
  const output = Math.min(maxOutputTokens, reserved.tokens);
  return {
    scope: {
      ...runScope(run),
      step: run.step + 1,
      attempt: intent.attempt,
      cause: intent.intentId,
      costMicros: reserved.unpriced === true ? null : reserved.costMicros,
      costKind: "estimated",
      priceVersion,
      leaseId,
    },
    settlement: {
      ...reserved,
      estimated: true,
      usage: { input: reserved.tokens - output, output },
      route,
    },
  };
}

/** Without a call it is one of the run's next model call (B55). */
export interface OpenApproval {
  readonly callId: string | null;
  readonly approval: Pick<CallApproval, "approvalId" | "expiresAt">;
}

/** The one decision about a waiting call (A3); a null actor is the runtime itself. */
export function decisionDraft(
  run: RunState,
  { callId, approval }: OpenApproval,
  said: {
    readonly decision: ApprovalDecision;
    readonly actor: string | null;
    readonly comment?: string | null;
    readonly answer?: Json;
    readonly messageId?: string | null;
  },
): ThreadDraft {
  const { decision, actor, comment = null, answer = null, messageId = null } = said;
  const named = messageId === null ? {} : { messageId };
  const { approvalId } = approval;
  const step = callId === null ? run.step + 1 : run.step;
  const scope = { ...runScope(run), step, call: callId, cause: approvalId, actor };
  return { type: "approval.decided", payload: { decision, comment, answer, ...named }, scope };
}

/** The runtime's own decision about a call that waits: its time is over, or its run. */
export function closeApproval(
  run: RunState,
  { callId, approval }: CallState,
  decision: "expired" | "cancelled",
): readonly ThreadDraft[] {
  if (approval === null || approval.decidedSeq !== null) return [];
  return [decisionDraft(run, { callId, approval }, { decision, actor: null })];
}

export function finishCall(
  run: RunState,
  call: CallState,
  result: { status: "error" | "unknown" | "cancelled"; code: string; output: string },
): ThreadDraft {
  return {
    type: "tool.finished",
    payload: { result: { ...result, bytes: 0, handle: null }, settlement: NO_SETTLEMENT },
    scope: callScope(run, call),
  };
}

/** The runtime's own decision about more of a budget: nobody will give it. */
export function closeAsking(
  run: RunState,
  decision: "expired" | "cancelled",
): readonly ThreadDraft[] {
  if (run.phase.type !== "asking") return [];
  return [decisionDraft(run, { callId: null, ...run.phase }, { decision, actor: null })];
}

function closeAborted(run: RunState, message: string, words: ClosingWords): readonly ThreadDraft[] {
  const lost = lostAttempt(run);
  if (lost !== null) {
    const { settlement, scope } = lost;
    const payload = { code: "aborted", message, partial: "", retryAt: null, settlement } as const;
    return [{ type: "model.failed", payload, scope }];
  }
  if (run.phase.type !== "tools") return closeAsking(run, "cancelled");
  return run.phase.calls.flatMap((call) => closeCall(run, call, words));
}

/** Everything that is open, closed because the run is cancelled. */
export function closeForCancel(run: RunState): readonly ThreadDraft[] {
  return closeAborted(run, "the run was cancelled", CANCELLED);
}

/** Everything that is open, closed because the run has worked as long as it may (B57). */
export function closeForDeadline(run: RunState): readonly ThreadDraft[] {
  return closeAborted(run, "the run's time was over", OVERTIME);
}

/** Everything that is open, closed because the run fails. */
export function closeForFailure(run: RunState, reason: RunFailure): readonly ThreadDraft[] {
  const lost = lostAttempt(run);
  if (lost !== null)
    return [
      { type: "model.interrupted", payload: { settlement: lost.settlement }, scope: lost.scope },
    ];
  if (run.phase.type !== "tools") return closeAsking(run, "cancelled");
  return run.phase.calls.flatMap((call) => closeCall(run, call, { ...FAILED, openCode: reason }));
}

interface ClosingWords {
  readonly refusal: "run_cancelled" | "run_failed";
  readonly status: "error" | "cancelled";
  readonly openCode: string;
  readonly open: string;
  readonly interrupted: string;
  readonly pending: string;
}
const CANCELLED: ClosingWords = {
  refusal: "run_cancelled",
  status: "cancelled",
  openCode: "cancelled_outcome_unknown",
  open: "The run was cancelled while this call was running. Whether it took effect is not known.",
  interrupted:
    "The run was cancelled after an interrupted attempt of this call. Whether that took effect is not known.",
  pending: "The run was cancelled before this call was started. It was not executed.",
};
const OVERTIME: ClosingWords = {
  refusal: "run_failed",
  // A result that comes later is recorded as late, as after a cancellation.
  status: "cancelled",
  openCode: "deadline_exceeded",
  open: "The run's time was over while this call was running. Whether it took effect is not known.",
  interrupted:
    "The run's time was over after an interrupted attempt of this call. Whether that took effect is not known.",
  pending: "The run's time was over before this call was started. It was not executed.",
};
const FAILED: ClosingWords = {
  refusal: "run_failed",
  status: "error",
  openCode: "recovery_exhausted",
  open: "This call was interrupted too often and was given up. Whether it took effect is not known.",
  interrupted:
    "The run ended after an interrupted attempt of this call. Whether that took effect is not known.",
  pending: "The run ended before this call was started. It was not executed.",
};

function closeCall(run: RunState, call: CallState, words: ClosingWords): readonly ThreadDraft[] {
  switch (call.status) {
    case "closed":
      return [];
    case "open":
      return [
        finishCall(run, call, { status: words.status, code: words.openCode, output: words.open }),
      ];
    case "pending":
    case "waiting":
    case "interrupted": {
      const refusal = call.refusal ?? {
        code: words.refusal,
        message: call.attempts === 0 ? words.pending : words.interrupted,
      };
      return [
        ...closeApproval(run, call, "cancelled"),
        {
          type: "tool.refused",
          payload: { name: call.name, refusal },
          scope: callScope(run, call),
        },
      ];
    }
  }
}
