/**
 * The one error type of this system, for what something outside failed at or refused.
 *
 * `kind` drives retry, status and alerts; `code` drives messages and is stable for clients. `detail` is JSON that a
 * client may see: it never holds secrets, stacks or another tenant's data.
 */
import type { JsonObject } from "./json.ts";

export type ErrorCode =
  | "invalid_request"
  | "body_too_large"
  | "request_timeout"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "idempotency_conflict"
  | "run_active"
  | "run_not_active"
  | "thread_halted"
  | "erasure_active"
  | "history_pruned"
  | "approval_already_decided"
  | "approval_superseded"
  | "approval_expired"
  | "approval_cancelled"
  | "approval_answer_invalid"
  | "agent_unknown"
  | "definition_unavailable"
  | "state_too_large"
  | "file_too_large"
  | "file_path_invalid"
  | "workspace_full"
  | "queue_full"
  | "rate_limited"
  | "model_unavailable"
  | "model_rejected"
  | "model_overflow"
  | "tool_failed"
  | "exec_timeout"
  | "exec_memory"
  | "exec_stack"
  | "exec_error"
  | "exec_output_invalid"
  | "exec_cancelled"
  | "sandbox_unavailable"
  | "storage_failed"
  | "stale_epoch"
  | "log_read_only"
  | "log_newer_than_code"
  | "log_corrupt"
  | "migration_failed"
  | "config_invalid"
  | "unavailable"
  | "internal";

export type ErrorKind = "rejected" | "unavailable" | "exhausted" | "faulted";

const APP_ERROR = Symbol.for("holdfast.AppError");

export interface AppErrorOptions {
  readonly kind?: ErrorKind;
  readonly retryable?: boolean;
  readonly detail?: JsonObject;
  readonly cause?: unknown;
}

export class AppError extends Error {
  readonly [APP_ERROR] = true;
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly retryable: boolean;
  readonly detail: JsonObject;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.kind = options.kind ?? "rejected";
    this.retryable = options.retryable ?? false;
    this.detail = options.detail ?? {};
  }
}

/** By brand and shape, because class identity does not survive RPC or bundling. */
export function isAppError(value: unknown): value is AppError {
  return value instanceof Error && APP_ERROR in value && "code" in value;
}
