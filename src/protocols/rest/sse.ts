/**
 * Server-Sent Events from the frames of a thread's stream.
 *
 * E1 The id of an event is `seq.attempt.offset`; a client that sends the last one back goes on behind it (P2).
 * E2 Frames are passed on one event each, in order; nothing is held back or made up. The data of an `event` is the
 *    event itself, that of any other is its frame without the position, which is the id.
 * E3 A stream that breaks says so: one `error` event with a problem document, without an id, and then the end.
 * E4 Bytes are pulled only as the client takes them, and a client that leaves cancels the upstream read.
 */
import type { StreamCursor } from "#ports/thread-gateway.ts";
import { isJsonObject, utf8 } from "#shared/json.ts";
import { FrameLines } from "#protocols/common/frame-lines.ts";
import { failure, toProblem } from "./errors.ts";

/** Proxies close a connection after 30 to 60 s of silence. */
const KEEP_ALIVE_MS = 15_000;
const RETRY_MS = 1_000;
const FRAME_TYPES: ReadonlySet<string> = new Set(["event", "delta", "discard", "caught_up"]);

export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

export interface EventStreamOptions {
  readonly requestId: string;
  /** Calls back until cancelled; replaced in tests. */
  readonly every?: (intervalMs: number, tick: () => void) => () => void;
}

export function toEventStream(
  frames: ReadableStream<Uint8Array>,
  { requestId, every = everyInterval }: EventStreamOptions,
): ReadableStream<Uint8Array> {
  const lines = new FrameLines(frames);
  let quiet = false;
  let left = false;
  let stopTimer = () => {};
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(utf8(`retry: ${RETRY_MS}\n\n`));
      stopTimer = every(KEEP_ALIVE_MS, () => {
        if (quiet && (controller.desiredSize ?? 0) > 0)
          controller.enqueue(utf8(": keep-alive\n\n"));
        quiet = true;
      });
    },
    async pull(controller) {
      const next = await readBlock(lines);
      // Leaving ends the read that was under way; what it brought has nobody to go to.
      if (left) return;
      quiet = false;
      if (next.type === "block") {
        controller.enqueue(utf8(next.text));
        return;
      }
      stopTimer();
      if (next.type === "broken") {
        const problem = toProblem(failure(next.code), requestId);
        const told = `${next.text ?? ""}event: error\ndata: ${JSON.stringify(problem)}\n\n`;
        controller.enqueue(utf8(told));
      }
      controller.close();
    },
    async cancel(reason) {
      left = true;
      stopTimer();
      await lines.cancel(reason);
    },
  });
}

type Block =
  | { readonly type: "block"; readonly text: string }
  | { readonly type: "end" }
  | {
      readonly type: "broken";
      readonly code: "unavailable" | "internal";
      /** What came before it. */
      readonly text?: string;
    };

/** What has arrived goes on together: a write of its own for each event is most of what a busy stream costs. */
const BLOCK_UNITS = 64 * 1024;

async function readBlock(lines: FrameLines): Promise<Block> {
  let line: string | null;
  try {
    line = await lines.next();
  } catch {
    return { type: "broken", code: "unavailable" };
  }
  if (line === null) return { type: "end" };
  let text = "";
  for (; line !== null; line = text.length < BLOCK_UNITS ? lines.arrived() : null) {
    const block = toBlock(line);
    if (block === null) {
      await lines.cancel("malformed frame");
      return { type: "broken", code: "internal", text };
    }
    text += block;
  }
  return { type: "block", text };
}

function toBlock(line: string): string | null {
  let frame: unknown;
  try {
    frame = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isJsonObject(frame) || !isCursor(frame["cursor"])) return null;
  const { type, cursor, event, ...rest } = frame;
  if (typeof type !== "string" || !FRAME_TYPES.has(type)) return null;
  const data = JSON.stringify(type === "event" ? event : rest);
  return `id: ${formatCursor(cursor)}\nevent: ${type}\ndata: ${data}\n\n`;
}

export function formatCursor({ seq, attempt, offset }: StreamCursor): string {
  return `${seq}.${attempt}.${offset}`;
}

function isCursor(value: unknown): value is StreamCursor {
  if (!isJsonObject(value)) return false;
  return ["seq", "attempt", "offset"].every((part) => Number.isSafeInteger(value[part]));
}

function everyInterval(intervalMs: number, tick: () => void): () => void {
  const timer = setInterval(tick, intervalMs);
  return () => clearInterval(timer);
}
