/** Approvals of the step at hand (A1, A3): a call, or the run itself (B55), waits from its request to its one decision. */
import { budgetFailure, refusalOf } from "./approvals.ts";
import { corrupt, isDue, requireLiveRun } from "./evolve-run.ts";
import { replaceCall } from "./evolve-tools.ts";
import type { EventOf } from "./evolve-window.ts";
import type { CallApproval, CallState, RunState, ThreadState } from "./state.ts";

type Requested = EventOf<"approval.requested">;
type Decided = EventOf<"approval.decided">;

export function evolveApproval(state: ThreadState, event: Requested | Decided): ThreadState {
  const run = requireLiveRun(state, event);
  // The answer that made the call was erased: what follows names calls that are not known here.
  if (run.phase.type === "erased") return state;
  if (event.header.call === null) return { ...state, run: evolveBudget(run, event) };
  if (run.phase.type !== "tools") return corrupt("call_unknown", event);
  const call = run.phase.calls.find((item) => item.callId === event.header.call);
  if (call === undefined) return corrupt("call_unknown", event);
  if (event.header.step !== run.step) return corrupt("step_unexpected", event);
  const next = event.type === "approval.requested" ? requested(call, event) : decided(call, event);
  return replaceCall(state, run, next);
}

function requested(call: CallState, event: Requested): CallState {
  if (call.status !== "pending" && call.status !== "interrupted")
    return corrupt("call_already_started", event);
  if (call.refusal !== null || call.approval !== null) return corrupt("phase_unexpected", event);
  const { header, payload } = event;
  const approval: CallApproval = {
    approvalId: header.id,
    seq: header.seq,
    kind: payload?.kind === "question" ? "question" : "tool",
    // An erased request is of a run that has ended, so its time is not asked for any more.
    expiresAt: payload?.expiresAt ?? 0,
    decidedSeq: null,
  };
  return { ...call, status: "waiting", approval };
}

function decided(call: CallState, event: Decided): CallState {
  const { header, payload } = event;
  const { approval, status } = call;
  if (status !== "waiting" || approval === null || approval.approvalId !== header.cause)
    return corrupt("approval_not_open", event);
  // Erased: what was decided shows in what follows, a start or a refusal.
  const refusal =
    payload === null ? null : refusalOf(payload.decision, approval.kind, payload.comment);
  return {
    ...call,
    status: call.attempts === 0 ? "pending" : "interrupted",
    approval: { ...approval, decidedSeq: header.seq },
    refusal,
  };
}

/** The model call that is due has no room in a budget: the run waits, and goes on or ends as it is decided. */
function evolveBudget(run: RunState, event: Requested | Decided): RunState {
  const { phase } = run;
  const { header } = event;
  if (header.step !== run.step + 1) return corrupt("step_unexpected", event);
  if (event.type === "approval.requested") {
    if (!isDue(run)) return corrupt("phase_unexpected", event);
    const { expiresAt = 0, budget } = event.payload ?? {};
    const { id: approvalId, seq } = header;
    const approval = { approvalId, seq, expiresAt, stop: budget?.stop ?? null };
    return { ...run, phase: { type: "asking", approval }, grant: null };
  }
  if (phase.type !== "asking" || phase.approval.approvalId !== header.cause)
    return corrupt("approval_not_open", event);
  const { approvalId, seq: requestedSeq, stop } = phase.approval;
  const failure = event.payload === null ? null : budgetFailure(event.payload);
  if (failure !== null) {
    const failed = { type: "failed", reason: "budget_exceeded", message: failure } as const;
    return { ...run, phase: stop === null ? failed : { ...failed, budget: stop } };
  }
  return {
    ...run,
    phase: { type: "ready" },
    grant: { approvalId, requestedSeq, decidedSeq: header.seq },
  };
}
