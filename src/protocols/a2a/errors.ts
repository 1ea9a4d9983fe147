/**
 * Failures as errors of A2A: one reason for each, its code in JSON-RPC and its status over HTTP, with `ErrorInfo` of
 * google.rpc in both.
 *
 * A missing task, a foreign one and an id that no task can have are one and the same `TASK_NOT_FOUND` (Z5). Nothing that was
 * sent is quoted.
 */
import type { z } from "zod";
import type { Failure } from "#ports/thread-gateway.ts";
import { PROBLEMS, toProblem } from "#protocols/rest/errors.ts";
import type { JsonObject } from "#shared/json.ts";
import type { RpcId } from "./wire.ts";

interface Kind {
  readonly rpc: number;
  readonly http: number;
  /** Of google.rpc.Code. */
  readonly status: string;
  readonly message: string;
}
const KINDS = {
  TASK_NOT_FOUND: {
    rpc: -32_001,
    http: 404,
    status: "NOT_FOUND",
    message: "Task not found",
  },
  TASK_NOT_CANCELABLE: {
    rpc: -32_002,
    http: 409,
    status: "FAILED_PRECONDITION",
    message: "The task has ended and cannot be cancelled",
  },
  UNSUPPORTED_OPERATION: {
    rpc: -32_004,
    http: 400,
    status: "UNIMPLEMENTED",
    message: "This operation is not supported",
  },
  CONTENT_TYPE_NOT_SUPPORTED: {
    rpc: -32_005,
    http: 415,
    status: "INVALID_ARGUMENT",
    message: "Parts of this media type are not supported; send text or JSON data",
  },
  VERSION_NOT_SUPPORTED: {
    rpc: -32_009,
    http: 400,
    status: "UNIMPLEMENTED",
    message: "This interface speaks A2A 1.0; send the header A2A-Version: 1.0",
  },
  PARSE: {
    rpc: -32_700,
    http: 400,
    status: "INVALID_ARGUMENT",
    message: "Invalid JSON payload",
  },
  INVALID_REQUEST: {
    rpc: -32_600,
    http: 400,
    status: "INVALID_ARGUMENT",
    message: "Request payload validation error",
  },
  METHOD_NOT_FOUND: {
    rpc: -32_601,
    http: 404,
    status: "NOT_FOUND",
    message: "Method not found",
  },
  INVALID_PARAMS: {
    rpc: -32_602,
    http: 400,
    status: "INVALID_ARGUMENT",
    message: "Invalid parameters",
  },
  INTERNAL: { rpc: -32_603, http: 500, status: "INTERNAL", message: "Internal error" },
} as const satisfies { readonly [reason: string]: Kind };
type Reason = keyof typeof KINDS;

/** Reasons of JSON-RPC itself, which the protocol gives no `ErrorInfo`. */
const PLAIN: ReadonlySet<string> = new Set<Reason>([
  "PARSE",
  "INVALID_REQUEST",
  "METHOD_NOT_FOUND",
  "INVALID_PARAMS",
  "INTERNAL",
]);
const DOMAIN = "a2a-protocol.org";
const OWN_DOMAIN = "holdfast";
/** Of JSON-RPC, for what the implementation defines. */
const SERVER_ERROR = -32_000;

export interface A2aError extends Kind {
  readonly details: readonly JsonObject[];
  /** Seconds, for Retry-After. */
  readonly retryAfter: number | null;
}

export function a2aError(reason: Reason, message?: string): A2aError {
  const kind = KINDS[reason];
  const info = { "@type": ERROR_INFO, reason, domain: DOMAIN };
  return {
    ...kind,
    message: message ?? kind.message,
    details: PLAIN.has(reason) ? [] : [info],
    retryAfter: null,
  };
}

/** Names the field, and quotes nothing that was sent. */
export function toInvalid({ issues }: z.ZodError): A2aError {
  const fieldViolations = issues.slice(0, 10).map(({ path, message }) => ({
    field: path.map(String).join("."),
    description: message,
  }));
  return {
    ...a2aError("INVALID_PARAMS"),
    details: [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations }],
  };
}

export function invalidField(field: string, description: string): A2aError {
  return {
    ...a2aError("INVALID_PARAMS", `${field}: ${description}`),
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: [{ field, description }],
      },
    ],
  };
}

/** What the thread refused. */
export function toA2aError(failed: Failure): A2aError {
  switch (failed.code) {
    case "not_found":
      return a2aError("TASK_NOT_FOUND");
    case "run_not_active":
      return a2aError("TASK_NOT_CANCELABLE");
    case "invalid_request":
    case "approval_answer_invalid":
      return a2aError("INVALID_PARAMS", toProblem(failed, "").detail);
    default: {
      const { status } = PROBLEMS[failed.code];
      const info = {
        "@type": ERROR_INFO,
        reason: failed.code.toUpperCase(),
        domain: OWN_DOMAIN,
      };
      const seconds = failed.detail["retryAfterSeconds"];
      return {
        rpc: status >= 500 ? KINDS.INTERNAL.rpc : SERVER_ERROR,
        http: status,
        status: STATUS_NAMES.get(status) ?? (status >= 500 ? "INTERNAL" : "FAILED_PRECONDITION"),
        message: toProblem(failed, "").detail,
        details: [info],
        retryAfter: typeof seconds === "number" ? seconds : null,
      };
    }
  }
}

export function toRpcError(error: A2aError, id: RpcId): JsonObject {
  const { rpc: code, message, details } = error;
  const data = details.length === 0 ? {} : { data: details };
  return { jsonrpc: "2.0", id, error: { code, message, ...data } };
}

export function toHttpError({ http: code, status, message, details }: A2aError): JsonObject {
  return { error: { code, status, message, details } };
}

const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";
const STATUS_NAMES = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [409, "ABORTED"],
  [413, "INVALID_ARGUMENT"],
  [429, "RESOURCE_EXHAUSTED"],
  [503, "UNAVAILABLE"],
]);
