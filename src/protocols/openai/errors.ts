/**
 * Failures in the shape that OpenAI clients raise as their error classes: `{ error: { message, type, param, code } }`.
 *
 * The status decides the class (400 BadRequestError ... 429 RateLimitError); `code` stays ours, or is the field's own word
 * where it has one. `x-should-retry: false` where a repetition would only cost again.
 */
import type { Failure } from "#ports/thread-gateway.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import { PROBLEMS, toProblem } from "#protocols/rest/errors.ts";

export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}
export interface Refused {
  readonly status: number;
  readonly error: OpenAiError;
  readonly retry: boolean;
}

const TYPES: { readonly [status: number]: string } = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};
const CODES: { readonly [code: string]: string } = {
  unauthenticated: "invalid_api_key",
  agent_unknown: "model_not_found",
  rate_limited: "rate_limit_exceeded",
};

export function toRefused(failure: Failure, param: string | null = null): Refused {
  const { status, detail, retryable } = toProblem(failure, "");
  const path = failure.detail["path"];
  return {
    status: PROBLEMS[failure.code].status,
    error: {
      message: detail,
      type: typeOf(status),
      param: param ?? (typeof path === "string" ? path : null),
      code: CODES[failure.code] ?? failure.code,
    },
    retry: retryable || status === 429,
  };
}

export function invalid(message: string, param: string | null, code = "invalid_value"): Refused {
  return {
    status: 400,
    error: { message, type: "invalid_request_error", param, code },
    retry: false,
  };
}

type RunFailed = ThreadEvents["run.failed"];

/** A run that failed was paid for: nothing is asked for again by itself. */
export function fromFailedRun(payload: RunFailed | null): Refused {
  const reason = payload?.reason ?? "internal";
  const message = payload?.message ?? "The run failed.";
  switch (reason) {
    case "context_overflow":
      return invalid(message, "messages", "context_length_exceeded");
    case "cost_cap":
    case "token_cap":
      return {
        status: 429,
        error: { message, type: "insufficient_quota", param: null, code: reason },
        retry: false,
      };
    case "model_unavailable":
      return {
        status: 503,
        error: { message, type: "server_error", param: null, code: reason },
        retry: false,
      };
    default:
      return {
        status: 500,
        error: { message, type: "server_error", param: null, code: reason },
        retry: false,
      };
  }
}

export const CUT_OFF: OpenAiError = {
  message: "The stream was cut off. What was said so far is not the whole answer.",
  type: "server_error",
  param: null,
  code: "stream_incomplete",
};
export const CANCELLED: OpenAiError = {
  message: "The run was cancelled.",
  type: "server_error",
  param: null,
  code: "run_cancelled",
};

export function errorResponse({ status, error, retry }: Refused, failure?: Failure): Response {
  const headers = new Headers();
  if (!retry) headers.set("x-should-retry", "false");
  if (status === 429 && failure !== undefined)
    headers.set("retry-after", String(failure.detail["retryAfterSeconds"] ?? 1));
  return Response.json({ error }, { status, headers });
}

function typeOf(status: number): string {
  return TYPES[status] ?? (status >= 500 ? "server_error" : "invalid_request_error");
}
