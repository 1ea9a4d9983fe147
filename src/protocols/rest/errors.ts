/**
 * Failures to problem documents (RFC 9457): one shape for every error of the API (P1).
 *
 * What a caller may not learn is dropped here: `not_found` says the same for a foreign and a missing thing (Z5), and
 * 401 and 5xx carry only their title.
 */
import type { ErrorCode } from "#shared/errors.ts";
import type { Failure } from "#ports/thread-gateway.ts";
import type { Json } from "#shared/json.ts";

type ProblemStatus =
  | 400
  | 401
  | 403
  | 404
  | 405
  | 408
  | 409
  | 410
  | 413
  | 416
  | 422
  | 429
  | 500
  | 502
  | 503;
type Entry = { readonly status: ProblemStatus; readonly title: string };

/** A new code fails to compile here until it has a status. Titles are stable; clients match on `code`. */
export const PROBLEMS: { readonly [Code in ErrorCode]: Entry } = {
  invalid_request: { status: 400, title: "The request is not valid." },
  body_too_large: { status: 413, title: "The request body is too large." },
  request_timeout: { status: 408, title: "The request body did not arrive in time." },
  unauthenticated: { status: 401, title: "Valid credentials are required." },
  forbidden: { status: 403, title: "These credentials do not allow this." },
  not_found: {
    status: 404,
    title: "There is nothing here: it does not exist, or it is not yours.",
  },
  method_not_allowed: { status: 405, title: "This resource does not support the method." },
  conflict: { status: 409, title: "The request conflicts with the present state." },
  idempotency_conflict: { status: 409, title: "This key was used with another request." },
  run_active: { status: 409, title: "A run is active in this thread." },
  thread_halted: { status: 409, title: "An operator has halted this thread." },
  run_not_active: { status: 409, title: "The run has ended." },
  erasure_active: { status: 409, title: "An erasure is under way." },
  history_pruned: { status: 410, title: "This part of the history was pruned." },
  approval_already_decided: { status: 409, title: "The approval has been decided." },
  approval_superseded: { status: 409, title: "A newer message has superseded the approval." },
  approval_expired: { status: 409, title: "The approval has expired." },
  approval_cancelled: { status: 409, title: "The run that asked for the approval has ended." },
  approval_answer_invalid: { status: 422, title: "The answer does not fit the question's schema." },
  agent_unknown: { status: 404, title: "There is no such agent." },
  definition_unavailable: { status: 409, title: "The agent's definition is not available." },
  state_too_large: { status: 413, title: "The state is too large." },
  file_too_large: { status: 413, title: "The file is too large." },
  file_path_invalid: { status: 400, title: "The file path is not valid." },
  workspace_full: { status: 409, title: "The workspace is full." },
  queue_full: { status: 429, title: "Too many messages wait in this thread." },
  rate_limited: { status: 429, title: "Too many requests." },
  model_unavailable: { status: 503, title: "The model is not available." },
  model_rejected: { status: 502, title: "The model refused the request." },
  model_overflow: { status: 422, title: "The request does not fit the model's context." },
  tool_failed: { status: 502, title: "A tool failed." },
  sandbox_unavailable: { status: 503, title: "The sandbox is not available." },
  exec_timeout: { status: 422, title: "The code ran into its time limit." },
  exec_memory: { status: 422, title: "The code ran into its memory limit." },
  exec_stack: { status: 422, title: "The code recursed too deeply." },
  exec_error: { status: 422, title: "The code failed." },
  exec_output_invalid: { status: 422, title: "The code's result cannot be used." },
  exec_cancelled: { status: 409, title: "The execution was cancelled." },
  storage_failed: { status: 500, title: "Storage failed." },
  stale_epoch: { status: 503, title: "The thread moved; try again." },
  log_read_only: { status: 409, title: "The thread can be read but not changed." },
  log_newer_than_code: {
    status: 409,
    title: "The thread was written by a newer version and can only be read.",
  },
  log_corrupt: { status: 500, title: "The thread's log is damaged and can only be read." },
  migration_failed: {
    status: 503,
    title: "The thread could not be upgraded and can only be read.",
  },
  config_invalid: { status: 500, title: "The service is not configured correctly." },
  unavailable: { status: 503, title: "The service is not available; try again." },
  internal: { status: 500, title: "Something went wrong." },
};

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  /** True when the same request may succeed later. */
  readonly retryable: boolean;
  readonly requestId: string;
  /** What the code is about, such as the path of a refused field. */
  readonly context: { readonly [key: string]: Json };
}

export function toProblem(failure: Failure, requestId: string): Problem {
  const { status, title } = PROBLEMS[failure.code];
  const generic = failure.code === "not_found" || status === 401 || status >= 500;
  return {
    type: `urn:holdfast:problem:${failure.code}`,
    title,
    status,
    code: failure.code,
    detail: generic ? title : failure.message,
    retryable: failure.retryable,
    requestId,
    context: generic ? {} : failure.detail,
  };
}

export interface ProblemOptions {
  readonly requestId: string;
  readonly headers?: { readonly [name: string]: string };
  /** Where HTTP has a more exact status than the code, such as 416. */
  readonly status?: ProblemStatus;
}

export function problemResponse(failure: Failure, options: ProblemOptions): Response {
  const problem = toProblem(failure, options.requestId);
  const status = options.status ?? problem.status;
  const headers = new Headers({ "content-type": "application/problem+json", ...options.headers });
  if (status === 401) headers.set("www-authenticate", 'Bearer realm="holdfast"');
  if (status === 429 || (status === 503 && failure.retryable)) {
    headers.set("retry-after", String(failure.detail["retryAfterSeconds"] ?? 1));
  }
  return new Response(JSON.stringify({ ...problem, status }), { status, headers });
}

/** `context` is seen by the caller, so it holds nothing that the caller did not send or may not know. */
export function failure(
  code: ErrorCode,
  message: string = PROBLEMS[code].title,
  context: { readonly [key: string]: Json } = {},
): Failure {
  return { code, message, detail: context, retryable: PROBLEMS[code].status === 503 };
}

/** Tells in how many seconds the caller may come again; `problemResponse` makes the header of it. */
export function rateLimited(retryAfterSeconds: number): Failure {
  const message = `Too many requests of this key. Come again in ${retryAfterSeconds} s.`;
  return { ...failure("rate_limited", message, { retryAfterSeconds }), retryable: true };
}
