/**
 * Approvals of one thread: what people are shown, and what becomes of what they answer (rules A).
 *
 * An approval is read from its two events; the projection only finds them. Who answers late is told what was decided and
 * by whom, and the attempt is recorded (A3).
 */
import type { ApprovalRow } from "#adapters/projections/approvals-projection.ts";
import type {
  ApprovalDecision,
  ApprovalRefusalReason,
  ThreadEvent,
  ThreadEvents,
} from "#kernel/events.ts";
import type {
  ApprovalView,
  Caller,
  DecideApproval,
  Failure,
  Page,
  PageRequest,
  Reply,
} from "#ports/thread-gateway.ts";
import { isBlank } from "#kernel/prompt-text.ts";
import { invariant } from "#shared/exhaustive.ts";
import { isJsonObject, type Json } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { checkScope } from "./access.ts";
import type { ThreadHost } from "./thread-host.ts";

/** Further attempts are refused all the same, but a client that asks for ever does not fill a log. */
const MAX_RECORDED_ATTEMPTS = 100;
/** Pages cross RPC whole, and arguments may be large. */
const MAX_PAGE = 100;

const MISSING: Failure = {
  code: "not_found",
  message: "no such approval",
  detail: {},
  retryable: false,
};

export function listApprovals(
  host: ThreadHost,
  { after, limit, state }: PageRequest & { readonly state: "open" | "all" },
): Page<ApprovalView> {
  const most = Math.min(limit, MAX_PAGE);
  const rows = host.approvals.list(after, most + 1, state);
  const items = rows.slice(0, most).map((row) => toView(host, row));
  return { items, next: rows.length > most ? (items.at(-1)?.seq ?? null) : null };
}

export function readApproval(host: ThreadHost, approvalId: string): Reply<ApprovalView> {
  const row = host.approvals.get(approvalId);
  return row === null ? err(MISSING) : ok(toView(host, row));
}

/**
 * The owner decides in its own thread; anybody else of the tenant by scope (A8). More money is not for those who spend it
 * to grant (B55).
 */
function mayDecide(host: ThreadHost, caller: Caller, kind: ApprovalView["kind"]): Reply<null> {
  if (kind === "budget") return checkScope(caller, "operate");
  const isOwner = caller.id === host.runtime.state.owner;
  if (isOwner && caller.scopes.includes("threads:write")) return ok(null);
  return checkScope(caller, "approvals:decide");
}

export function decide(
  host: ThreadHost,
  caller: Caller,
  request: { readonly decision: DecideApproval; readonly idempotencyKey: string | null },
): Reply<ApprovalView> {
  const { approvalId, decision, comment, answer, messageId = null } = request.decision;
  const before = readApproval(host, approvalId);
  const allowed = mayDecide(host, caller, before.ok ? before.value.kind : null);
  if (!allowed.ok) return allowed;
  if (!before.ok) return before;
  const body = { approvalId, decision, comment, answer };
  // Only an open question reads the answer; one that came late is told so, whatever it says.
  const misfit =
    before.value.status === "open" ? checkAnswer(host, before.value, request.decision) : null;
  if (misfit !== null) return err(misfit);
  const reply = host.submit(
    caller,
    { type: "decide_approval", ...body, messageId, at: host.now },
    { idempotencyKey: request.idempotencyKey, body },
  );
  if (reply.ok) return readApproval(host, approvalId);
  return reply.error.code === "approval_already_decided" || reply.error.code === "approval_expired"
    ? refuseLate(host, caller, request.decision)
    : reply;
}

function checkAnswer(
  host: ThreadHost,
  { kind, answerSchema }: ApprovalView,
  { decision, answer }: DecideApproval,
): Failure | null {
  if (kind !== "question" || decision !== "answer") return null;
  const issues = isJsonObject(answerSchema)
    ? host.schemas.check(answerSchema, answer)
    : checkText(answer);
  if (issues.length === 0) return null;
  return {
    code: "approval_answer_invalid",
    message: `The answer does not fit: ${issues.slice(0, 5).join("; ")}`,
    detail: { issues: issues.slice(0, 10) },
    retryable: false,
  };
}

function checkText(answer: Json): readonly string[] {
  return typeof answer === "string" && !isBlank(answer) ? [] : ["/: expected a text"];
}

function refuseLate(
  host: ThreadHost,
  caller: Caller,
  { approvalId, decision: attempted }: DecideApproval,
): Reply<never> {
  const row = host.approvals.get(approvalId);
  invariant(row !== null, "an approval that was found stays");
  const view = toView(host, row);
  // Past its time and not recorded as expired yet: the alarm is about to.
  const refusal = toReason(view.status === "open" ? "expired" : view.decision);
  if (row.refused < MAX_RECORDED_ATTEMPTS) {
    const recorded = host.submit(
      caller,
      { type: "refuse_approval", approvalId, attempted, refusal },
      { idempotencyKey: null, body: { approvalId, attempted } },
    );
    if (!recorded.ok) return recorded;
  }
  const { decision, decidedBy, decidedAt, expiresAt } = view;
  return err({
    code: refusal,
    message: MESSAGES[refusal],
    detail: { approvalId, decision, decidedBy, decidedAt, expiresAt },
    retryable: false,
  });
}

const MESSAGES: { readonly [R in ApprovalRefusalReason]: string } = {
  approval_already_decided: "this approval has been decided; the decision stands",
  approval_superseded: "a newer message has superseded this approval; the call was not executed",
  approval_expired: "this approval has expired; the call was not executed",
  approval_cancelled: "the run that asked for this approval has ended; the call was not executed",
};

function toReason(decision: ApprovalDecision | null): ApprovalRefusalReason {
  switch (decision) {
    case "expired":
      return "approval_expired";
    case "superseded":
      return "approval_superseded";
    case "cancelled":
      return "approval_cancelled";
    case "approved":
    case "denied":
    case "answered":
    case null:
      return "approval_already_decided";
  }
}

function toView(host: ThreadHost, { seq, decidedSeq }: ApprovalRow): ApprovalView {
  const { header, payload } = eventAt(host, seq, "approval.requested");
  const decided = decidedSeq === null ? null : eventAt(host, decidedSeq, "approval.decided");
  return {
    approvalId: header.id,
    kind: payload?.kind ?? null,
    tool: payload?.tool ?? null,
    version: payload?.version ?? null,
    runId: header.run ?? "",
    step: header.step ?? 0,
    callId: header.call ?? "",
    binding: payload?.binding ?? null,
    proposal: payload?.proposal ?? null,
    args: payload?.args ?? null,
    question: payload?.question ?? null,
    answerSchema: payload?.answerSchema ?? null,
    budget: payload?.budget ?? null,
    ...(payload?.client === undefined ? {} : { client: payload.client }),
    requestedAt: header.at,
    expiresAt: payload?.expiresAt ?? null,
    seq,
    status: decided === null ? "open" : "decided",
    decision: decided?.payload?.decision ?? null,
    decidedBy: decided?.header.actor ?? null,
    decidedAt: decided?.header.at ?? null,
    comment: decided?.payload?.comment ?? null,
    answer: decided?.payload?.answer ?? null,
  };
}

function eventAt<T extends keyof ThreadEvents>(
  host: ThreadHost,
  seq: number,
  type: T,
): Extract<ThreadEvent, { readonly type: T }> {
  const event = host.log.get(seq);
  invariant(event !== null && isOf(event, type), `event ${seq} is ${type}`);
  return event;
}

function isOf<T extends keyof ThreadEvents>(
  event: ThreadEvent,
  type: T,
): event is Extract<ThreadEvent, { readonly type: T }> {
  return event.type === type;
}
