/**
 * Request bodies, bounded before they are understood: bytes are counted while they arrive, nesting before parsing (P6).
 * P42 a body that stops arriving is given up.
 *
 * A declared Content-Length is only a shortcut to refusal; the count is what holds.
 */
import type { ErrorCode } from "#shared/errors.ts";
import type { Failure } from "#ports/thread-gateway.ts";
import type { Result } from "#shared/result.ts";
import { fromUtf8, jsonDepth } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { failure } from "./errors.ts";

export const MAX_JSON_BYTES = 1024 * 1024;
/** Far beyond any request of ours; keeps recursive walks over a body off the end of the stack. */
export const MAX_JSON_DEPTH = 32;

/** Longest silence of a body that is being received. */
export const BODY_STALL_MS = 30_000;
const STALLED = Symbol("stalled");

export interface BodyLimit {
  readonly maxBytes: number;
  readonly code: ErrorCode;
}

export async function readBytes(
  request: Request,
  limit: BodyLimit,
): Promise<Result<Uint8Array, Failure>> {
  const tooLarge = failure(limit.code, `The body is larger than ${limit.maxBytes} bytes.`, {
    maxBytes: limit.maxBytes,
  });
  const { body } = request;
  if (Number(request.headers.get("content-length") ?? 0) > limit.maxBytes) {
    await body?.cancel();
    return err(tooLarge);
  }
  if (body === null) return ok(new Uint8Array());
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const read = await readOrStall(reader);
    if (read === STALLED) return giveUp(reader, stalled());
    if (read.done) return ok(joined(chunks, total));
    total += read.value.byteLength;
    if (total > limit.maxBytes) return giveUp(reader, tooLarge);
    chunks.push(read.value);
  }
}

/** A client that sends nothing for so long holds memory of the isolate for nothing. */
async function readOrStall(reader: ReadableStreamDefaultReader<Uint8Array>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stall = new Promise<typeof STALLED>((resolve) => {
    timer = setTimeout(() => resolve(STALLED), BODY_STALL_MS);
  });
  try {
    return await Promise.race([reader.read(), stall]);
  } finally {
    clearTimeout(timer);
  }
}

/** Cancels the body, so that the rest is not received. A source that cannot even end is not waited for. */
function giveUp(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  failed: Failure,
): Result<never, Failure> {
  reader.cancel(failed.code).catch(() => undefined);
  return err(failed);
}

function stalled(): Failure {
  const message = `The body stopped for ${BODY_STALL_MS / 1_000} s.`;
  return { ...failure("request_timeout", message), retryable: true };
}

function joined(chunks: readonly Uint8Array[], total: number): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

export async function readJson(
  request: Request,
  limit: BodyLimit,
): Promise<Result<unknown, Failure>> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    return err(
      failure("invalid_request", "The body must be sent as content-type application/json."),
    );
  }
  const bytes = await readBytes(request, limit);
  if (!bytes.ok) return bytes;
  let text: string;
  try {
    text = fromUtf8(bytes.value);
  } catch {
    return err(failure("invalid_request", "The body is not UTF-8."));
  }
  if (jsonDepth(text) > MAX_JSON_DEPTH) {
    return err(
      failure("invalid_request", `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`),
    );
  }
  try {
    const value: unknown = JSON.parse(text);
    return ok(value);
  } catch {
    // The parser's own message quotes the body, which may hold what must not be logged or echoed.
    return err(failure("invalid_request", "The body is not valid JSON."));
  }
}
