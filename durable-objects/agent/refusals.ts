/** Refusals: every "no" of kernel and runtime to the failure that a caller is shown. One exhaustive switch. */
import type { Failure, Reply } from "#ports/thread-gateway.ts";
import type { SubmitRefusal } from "#runner/thread-runtime.ts";
import { isAppError } from "#shared/errors.ts";
import type { JsonObject } from "#shared/json.ts";
import { err } from "#shared/result.ts";
import { NOT_FOUND } from "./access.ts";

export const UNDEPLOYED: Failure = {
  code: "agent_unknown",
  message: "this agent is not part of the deployment; the thread can be read",
  detail: {},
  retryable: false,
};

export const UNAVAILABLE: Failure = {
  code: "definition_unavailable",
  message: "the promoted version does not fit the tools of this deployment; store a new one",
  detail: {},
  retryable: false,
};

const MISSING = {
  run_unknown: "no such run",
  message_unknown: "no such message among those that a prompt has held",
  branch_unknown: "no such branch",
  file_missing: "no such file",
  schedule_unknown: "no such schedule",
} as const;

const HALTED =
  "an operator has halted this thread; nothing is taken on until it is resumed, so send again then";
const RUN_ACTIVE =
  "a run is live; cancel it, wait for it, or send with delivery queue, steer or interrupt";

/** Where there is no more to say than this. */
const PLAIN = {
  thread_exists: { code: "conflict", message: "the thread exists already" },
  schedule_declared: {
    code: "conflict",
    message: "this schedule is declared in the agent's file; change it there, or pause it",
  },
  message_empty: { code: "invalid_request", message: "the message is empty" },
  approval_not_open: {
    code: "approval_already_decided",
    message: "this approval is not open",
  },
  approval_overdue: { code: "approval_expired", message: "this approval has expired" },
  usage_unknown: {
    code: "not_found",
    message: "no model call with this id, or its record was erased",
  },
  usage_final: {
    code: "conflict",
    message:
      "the provider said already what this call used; only an estimate or an unknown cost is replaced",
  },
  usage_unpriced: {
    code: "conflict",
    message:
      "the route of this call has no price now; set one (PUT /v1/prices), then send the usage again",
  },
  idempotency_conflict: {
    code: "idempotency_conflict",
    message: "this key was used for another request; use a new key",
  },
} as const;

export function toFailure(refusal: SubmitRefusal): Failure {
  switch (refusal.reason) {
    case "thread_missing":
      return NOT_FOUND;
    case "run_active":
      return failure("run_active", RUN_ACTIVE, { runId: refusal.runId });
    case "thread_halted":
      return failure("thread_halted", HALTED, { since: refusal.since });
    case "run_unknown":
    case "message_unknown":
    case "branch_unknown":
    case "file_missing":
    case "schedule_unknown":
      return failure("not_found", MISSING[refusal.reason]);
    case "run_not_active":
      return failure("run_not_active", `the run has ended as ${refusal.status}`, {
        status: refusal.status,
      });
    case "schedules_full":
    case "daily_limit":
    case "queue_full":
    case "state_too_large":
      return toLimit(refusal);
    case "decision_misfit":
      return failure(
        "invalid_request",
        refusal.kind === "question"
          ? "this is a question: answer it, or deny"
          : "this is a call: approve it, or deny",
        { kind: refusal.kind },
      );
    case "erasure_active":
      return failure(
        "erasure_active",
        "this thread is being erased; come again when its erasure is done",
        { erasureId: refusal.erasureId },
      );
    case "thread_exists":
    case "schedule_declared":
    case "message_empty":
    case "approval_not_open":
    case "approval_overdue":
    case "usage_unknown":
    case "usage_final":
    case "usage_unpriced":
    case "idempotency_conflict":
      return failure(PLAIN[refusal.reason].code, PLAIN[refusal.reason].message);
    case "read_only":
      return failure(refusal.code, refusal.message);
  }
}

type Limit = Extract<
  SubmitRefusal,
  { readonly reason: "schedules_full" | "daily_limit" | "queue_full" | "state_too_large" }
>;

function toLimit(refusal: Limit): Failure {
  switch (refusal.reason) {
    case "schedules_full":
      return failure(
        "conflict",
        `a thread has at most ${refusal.limit} schedules; delete one first`,
        { limit: refusal.limit },
      );
    case "daily_limit":
      return failure(
        "rate_limited",
        `the schedules of a thread begin at most ${refusal.limit} runs a day (UTC)`,
        { limit: refusal.limit },
      );
    case "queue_full":
      return failure(
        "queue_full",
        `${refusal.limit} messages are waiting already; send again when one has been answered`,
        { limit: refusal.limit },
      );
    case "state_too_large":
      return failure(
        "state_too_large",
        `the state may have ${refusal.limit} bytes as JSON and this one has ${refusal.bytes}; keep large content in files`,
        { limit: refusal.limit, bytes: refusal.bytes },
      );
  }
}

const RETRYABLE: ReadonlySet<Failure["code"]> = new Set([
  "unavailable",
  "stale_epoch",
  "erasure_active",
]);

/** What an adapter refused becomes a value; anything else is ours and passes on. */
export function replyWith<T>(error: unknown): Reply<T> {
  if (!isAppError(error)) throw error;
  return err({
    code: error.code,
    message: error.message,
    detail: error.detail,
    retryable: error.retryable,
  });
}

function failure(code: Failure["code"], message: string, detail: JsonObject = {}): Failure {
  return { code, message, detail, retryable: RETRYABLE.has(code) };
}
