/** The one error of this client: the server's problem documents (P1) and what only a client can meet, by stable code (P115). */
import type { ErrorCode } from "../src/shared/errors.ts";

/**
 * `unreachable`: no answer after all attempts. `stalled`: an answer that stopped in the middle. `invalid_response`: not from
 * this API. `output_mismatch`: the answer is not what the caller's `parse` takes.
 */
export type ClientErrorCode = "unreachable" | "stalled" | "invalid_response" | "output_mismatch";

export interface ErrorDetails {
  /** Of HTTP; 0 where there was no answer. */
  readonly status?: number;
  readonly retryable?: boolean;
  readonly requestId?: string | null;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class HoldfastError extends Error {
  readonly code: ErrorCode | ClientErrorCode;
  readonly status: number;
  /** The same request may succeed later. */
  readonly retryable: boolean;
  /** For the operator's logs; null where no server answered. */
  readonly requestId: string | null;
  /** What the code is about, such as the path of a refused field. */
  readonly context: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode | ClientErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "HoldfastError";
    this.code = code;
    this.status = details.status ?? 0;
    this.retryable = details.retryable ?? false;
    this.requestId = details.requestId ?? null;
    this.context = details.context ?? {};
  }
}

/** Of a problem document; anything else is told as it came, cut. */
export function toError(status: number, body: string): HoldfastError {
  const problem = parseProblem(body);
  if (problem === null) {
    const text = body.trim().slice(0, 200);
    const message = `The server answered with status ${status}${text === "" ? "." : `: ${text}`}`;
    return new HoldfastError("invalid_response", message, { status });
  }
  const { code, detail, retryable, requestId, context } = problem;
  return new HoldfastError(code, detail, { status, retryable, requestId, context });
}

interface ProblemDocument {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly retryable: boolean;
  readonly requestId: string;
  readonly context: Readonly<Record<string, unknown>>;
}

function parseProblem(body: string): ProblemDocument | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return null;
  }
  if (typeof parsed !== "object" || parsed === null || !("code" in parsed)) return null;
  // A server that is newer than this client may have codes that its types do not list yet.
  const problem = parsed as ProblemDocument;
  return typeof problem.code === "string" ? { ...problem, detail: String(problem.detail) } : null;
}

/** Of an `error` event of a stream: the problem document is its data (E3). */
export function toStreamError(data: string): HoldfastError {
  const problem: unknown = JSON.parse(data);
  const status =
    typeof problem === "object" && problem !== null && "status" in problem ? problem.status : 500;
  return toError(typeof status === "number" ? status : 500, data);
}
