/** What arrives in paths, queries and headers, to typed values. Each refusal says what would have been right. */
import type { z } from "@hono/zod-openapi";
import type { Failure, StreamCursor } from "#ports/thread-gateway.ts";
import type { InboxPosition } from "#ports/approval-inbox.ts";
import type { VersionPosition } from "#ports/agent-versions.ts";
import type { ThreadPosition } from "#ports/directory.ts";
import type { Result } from "#shared/result.ts";
import { isAgentName, isThreadId } from "#shared/ids.ts";
import { err, ok } from "#shared/result.ts";
import { failure } from "./errors.ts";
import { IdempotencyKey } from "./wire.ts";
import { toJsonPointer } from "#shared/json-pointer.ts";

/** Issues of a client's document: enough to fix it, bounded, and without the values it sent. */
const MAX_ISSUES = 10;

export function parseWith<S extends z.ZodType>(
  schema: S,
  value: unknown,
  where: "body" | "query",
): Result<z.output<S>, Failure> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  const issues = parsed.error.issues.slice(0, MAX_ISSUES).flatMap(toIssues);
  const first = issues[0];
  const hint =
    first === undefined
      ? ""
      : ` At ${first.path === "" ? "the top" : first.path}: ${first.message}`;
  return err(failure("invalid_request", `The ${where} is not valid.${hint}`, { issues }));
}

function toIssues(issue: z.core.$ZodIssue): { readonly path: string; readonly message: string }[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, MAX_ISSUES).map((key) => ({
      path: toPointer([...issue.path, key]),
      message: "This field is not known.",
    }));
  }
  return [{ path: toPointer(issue.path), message: issue.message }];
}

/** Names are cut: they are the caller's, and may be long. */
function toPointer(path: readonly PropertyKey[]): string {
  return toJsonPointer(path.map((part) => String(part).slice(0, 100)));
}

export function parseIdempotencyKey(header: string | undefined): Result<string | null, Failure> {
  const key = IdempotencyKey.safeParse(header);
  if (key.success) return ok(key.data ?? null);
  return err(
    failure("invalid_request", "Idempotency-Key must be 1 to 128 printable ASCII characters."),
  );
}

/** True when the client names the event stream among what it accepts. */
export function acceptsEventStream(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((entry) => {
    const [type, ...params] = entry.split(";").map((part) => part.trim().toLowerCase());
    return type === "text/event-stream" && !params.some((param) => /^q=0(\.0*)?$/.test(param));
  });
}

const CURSOR = /^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/;
const SEQ = /^(0|[1-9]\d{0,14})$/;

/** `seq.attempt.offset`, as sent in SSE ids; `seq` alone means all durable events up to it. */
export function parseCursor(text: string, name: string): Result<StreamCursor, Failure> {
  const [, seq, attempt, offset] =
    CURSOR.exec(text) ?? (SEQ.test(text) ? ["", text, "0", "0"] : []);
  if (seq === undefined) {
    return err(
      failure(
        "invalid_request",
        `${name} must be a position \`seq.attempt.offset\`, such as 12.0.0.`,
      ),
    );
  }
  return ok({ seq: Number(seq), attempt: Number(attempt), offset: Number(offset) });
}

/** The page token of thread lists: `createdAt.agent.thread`, whose parts hold no dot. */
export function parseThreadPosition(text: string): Result<ThreadPosition, Failure> {
  const [createdAt = "", agent = "", thread = "", ...rest] = text.split(".");
  if (rest.length > 0 || !SEQ.test(createdAt) || !isAgentName(agent) || !isThreadId(thread)) {
    return err(failure("invalid_request", "`after` must be the `next` of an earlier page."));
  }
  return ok({ createdAt: Number(createdAt), agent, thread });
}

/** The page token of the inbox: `requestedAt.approval`. */
export function parseInboxPosition(text: string): Result<InboxPosition, Failure> {
  const [requestedAt = "", approval = "", ...rest] = text.split(".");
  if (rest.length > 0 || !SEQ.test(requestedAt) || approval === "") {
    return err(failure("invalid_request", "`after` must be the `next` of an earlier page."));
  }
  return ok({ requestedAt: Number(requestedAt), approval });
}

/** The page token of an agent's versions: `createdAt.definition`. */
export function parseVersionPosition(text: string): Result<VersionPosition, Failure> {
  const [createdAt = "", definition = "", ...rest] = text.split(".");
  if (rest.length > 0 || !SEQ.test(createdAt) || !/^[0-9a-f]{64}$/.test(definition)) {
    return err(failure("invalid_request", "`after` must be the `next` of an earlier page."));
  }
  return ok({ createdAt: Number(createdAt), definition });
}

/**
 * The file path of a URL: everything behind `/files/`, percent-decoded once. Whether it stays inside the workspace is
 * judged by the workspace itself, which sees the same text (T7).
 */
export function parseFilePath(url: string): Result<string, Failure> {
  const encoded = /\/threads\/[^/]+\/files\/(.*)$/s.exec(new URL(url).pathname)?.[1] ?? "";
  try {
    const path = decodeURIComponent(encoded);
    if (path !== "" && path.isWellFormed()) return ok(path);
  } catch {
    // Not percent-encoded UTF-8: the same refusal as any other path that names no file.
  }
  return err(
    failure("file_path_invalid", "The path is not valid percent-encoded UTF-8, or empty."),
  );
}

export type ByteRange = { readonly start: number; readonly end: number };

/** One range of RFC 9110. Null for none, or for a form that may be ignored; `unsatisfiable` for one beyond the file. */
export function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | "unsatisfiable" | null {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return null;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return null;
  return start >= size ? "unsatisfiable" : { start, end };
}
