/** Requests to the API as the signed-in principal. Whatever goes wrong is a `ProblemError` whose message a person can read. */
import type { Problem } from "./types.ts";

export class ProblemError extends Error {
  /** 0 where the server could not be reached. */
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "ProblemError";
    this.status = status;
    this.code = code;
  }
}

export type Call = (path: string, init?: CallInit) => Promise<Response>;
export interface CallInit {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: Blob;
  readonly signal?: AbortSignal;
}

export function createCall(token: string, onRefused: () => void): Call {
  return async (path, { method = "GET", json, body, signal } = {}) => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (json !== undefined) headers["content-type"] = "application/json";
    if (body !== undefined) headers["content-type"] = "application/octet-stream";
    const content = json === undefined ? body : JSON.stringify(json);
    const init: RequestInit = { method, headers, cache: "no-store" };
    if (content !== undefined) init.body = content;
    if (signal !== undefined) init.signal = signal;
    const response = await send(`/v1${path}`, init);
    if (response.status === 401) onRefused();
    if (!response.ok) throw await toProblem(response);
    return response;
  };
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ProblemError(0, "unreachable", "The server cannot be reached. Is it running?");
  }
}

async function toProblem(response: Response): Promise<ProblemError> {
  const { status } = response;
  const text = await response.text();
  try {
    // Every error of the API is this document (P1).
    const problem = JSON.parse(text) as Problem;
    return new ProblemError(status, problem.code, problem.detail);
  } catch {
    return new ProblemError(status, "unknown", `The server answered with status ${status}.`);
  }
}

export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
