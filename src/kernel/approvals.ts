/**
 * Approvals: what people's decisions, and their absence, mean for the calls that wait for them (rules A).
 *
 * A decision is one event. What follows from it is found in the fold: an approved call is pending again and crosses the
 * whole gate; any other decision becomes the call's refusal, which is recorded like every other refusal (K7).
 */
import { exhaustive } from "#shared/exhaustive.ts";
import { err, ok } from "#shared/result.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { ThreadCommand, Decided } from "./commands.ts";
import { decisionDraft, type OpenApproval } from "./closing.ts";
import type {
  ApprovalDecision,
  ApprovalKind,
  Refusal,
  ThreadDraft,
  ThreadEvents,
} from "./events.ts";
import { isWaitingForHumans, type CallApproval, type RunState, type ThreadState } from "./state.ts";

type CommandOf<T extends ThreadCommand["type"]> = Extract<ThreadCommand, { readonly type: T }>;

/** Seven days. */
export const DEFAULT_APPROVAL_MS = 7 * 24 * 60 * 60 * 1_000;

const RECORDED = { runId: null, messageId: null, disposition: "recorded" } as const;
const DECISIONS = { approve: "approved", deny: "denied", answer: "answered" } as const;

export function decideApproval(
  { run }: ThreadState,
  { approvalId, decision, comment, answer, messageId, at }: CommandOf<"decide_approval">,
  { actor = null }: EventScope,
): Decided {
  const open = run === null ? null : findOpen(run, approvalId);
  if (run === null || open === null) return err({ reason: "approval_not_open", approvalId });
  const { approval } = open;
  if (at >= approval.expiresAt) return err({ reason: "approval_overdue", approvalId });
  const yes = open.kind === "question" ? "answer" : "approve";
  if (decision !== "deny" && decision !== yes)
    return err({ reason: "decision_misfit", kind: open.kind });
  const said = { comment, answer: decision === "answer" ? answer : null, messageId };
  const draft = decisionDraft(run, open, { decision: DECISIONS[decision], actor, ...said });
  return ok({ drafts: [draft], receipt: { ...RECORDED, runId: run.runId } });
}

export function refuseApproval(
  { approvalId, attempted, refusal }: CommandOf<"refuse_approval">,
  actor: EventScope,
): Decided {
  const scope = { ...actor, cause: approvalId };
  const payload = { attempted, reason: refusal };
  return ok({
    drafts: [{ type: "approval.refused", payload, scope }],
    receipt: RECORDED,
  });
}

/**
 * A message to a run that waits only for people supersedes what it waits for (A6): its author has moved on, and an
 * answer that waits for days behind a forgotten approval is no answer.
 */
export function supersede(run: RunState, { actor = null }: EventScope): readonly ThreadDraft[] {
  if (!isWaitingForHumans(run)) return [];
  return openApprovals(run).map((open) =>
    decisionDraft(run, open, { decision: "superseded", actor }),
  );
}

/** Why a run that waited for more of a budget ends; null where it got it. */
export function budgetFailure({
  decision,
  comment,
}: ThreadEvents["approval.decided"]): string | null {
  switch (decision) {
    case "approved":
    case "answered":
      return null;
    case "denied":
      return `A person was asked for more of the budget and denied it.${comment === null ? "" : ` They said: ${comment}`}`;
    case "expired":
      return "A person was asked for more of the budget, and nobody decided in time.";
    case "superseded":
    case "cancelled":
      return "The run ended before anybody granted more of the budget.";
    default:
      return exhaustive(decision);
  }
}

/** What the model is told; null where the call may run. */
export function refusalOf(
  decision: ApprovalDecision,
  kind: CallApproval["kind"],
  comment: string | null,
): Refusal | null {
  const notRun = kind === "question" ? "There is no answer." : "The call was not executed.";
  switch (decision) {
    case "approved":
    case "answered":
      return null;
    case "denied": {
      const said = comment === null ? "" : ` They said: ${comment}`;
      const what = kind === "question" ? "declined to answer" : "denied this call";
      return { code: "denied_by_human", message: `A person ${what}. ${notRun}${said}` };
    }
    case "expired":
      return { code: "approval_expired", message: `Nobody decided in time. ${notRun}` };
    case "superseded":
      return {
        code: "approval_superseded",
        message: `A new message came instead of a decision. ${notRun}`,
      };
    case "cancelled":
      return { code: "run_cancelled", message: `The run ended before a decision. ${notRun}` };
    default:
      return exhaustive(decision);
  }
}

type Open = OpenApproval & { readonly kind: ApprovalKind };

function openApprovals({ phase }: RunState): readonly Open[] {
  if (phase.type === "asking") return [{ callId: null, approval: phase.approval, kind: "budget" }];
  if (phase.type !== "tools") return [];
  return phase.calls.flatMap(({ callId, status, approval }) =>
    status === "waiting" && approval !== null ? [{ callId, approval, kind: approval.kind }] : [],
  );
}

function findOpen(run: RunState, approvalId: string): Open | null {
  return openApprovals(run).find(({ approval }) => approval.approvalId === approvalId) ?? null;
}
