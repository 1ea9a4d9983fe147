/**
 * One structured line per request: who, which route, what came of it. Never a body, a header, a query or the path
 * itself, because paths hold ids and file names of people; the route's pattern is what alerts group by.
 */
export interface RequestLogEntry {
  readonly at: number;
  readonly requestId: string;
  readonly method: string;
  /** Pattern of the matched route, or null. */
  readonly route: string | null;
  readonly status: number;
  /** Until the response began; a stream goes on after it. */
  readonly durationMs: number;
  readonly tenant: string | null;
  readonly principal: string | null;
  /** Code of the answered problem. */
  readonly code: string | null;
  /** The rich reason that the caller was not told. */
  readonly reason: string | null;
}
export type RequestLog = (entry: RequestLogEntry) => void;

/** JSON lines to `write`, which a Worker sets to `console.log`. */
export function createRequestLog(write: (line: string) => void): RequestLog {
  return (entry) => write(JSON.stringify({ type: "request", ...entry }));
}
