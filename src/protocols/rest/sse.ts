/**
 * Server-Sent Events from the frames of a thread's stream.
 *
 * E1 The id of an event is `seq.attempt.offset`; a client that sends the last one back goes on behind it (P2).
 * E2 Frames are passed on one event each, in order; nothing is held back or made up. The data of an `event` is the
 *    event itself, that of any other is its frame without the position, which is the id.
 * E3 A stream that breaks says so: one `error` event with a problem document, without an id, and then the end.
 * E4 Bytes are pulled only as the client takes them, and a client that leaves cancels the upstream read. One that takes
 *    nothing is cut like a stream that breaks (P9): what it had is followed by the error, and the rest comes behind its id.
 */
import type { StreamCursor } from "#ports/thread-gateway.ts";
import { isJsonObject, utf8 } from "#shared/json.ts";
import { FrameLines } from "#protocols/common/frame-lines.ts";
import { ReaderPace, type Every } from "#protocols/common/reader-pace.ts";
import { failure, toProblem } from "./errors.ts";

const RETRY_MS = 1_000;
const TOO_SLOW = "Nothing was taken of this stream for a minute; go on behind the last id.";
const FRAME_TYPES: ReadonlySet<string> = new Set(["event", "delta", "discard", "caught_up"]);

export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

export interface EventStreamOptions {
  readonly requestId: string;
  readonly every?: Every;
}

export function toEventStream(
  frames: ReadableStream<Uint8Array>,
  { requestId, every }: EventStreamOptions,
): ReadableStream<Uint8Array> {
  const lines = new FrameLines(frames);
  let over = false;
  let pace: ReaderPace | undefined;
  const end = (
    controller: ReadableStreamDefaultController<Uint8Array>,
    failed: ReturnType<typeof failure> | null,
    before = "",
  ): void => {
    over = true;
    pace?.stop();
    if (failed !== null) {
      const problem = toProblem(failed, requestId);
      controller.enqueue(utf8(`${before}event: error\ndata: ${JSON.stringify(problem)}\n\n`));
    }
    controller.close();
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(utf8(`retry: ${RETRY_MS}\n\n`));
      const cut = (): void => {
        end(controller, failure("unavailable", TOO_SLOW));
        // The object may be gone already.
        void lines.cancel("the reader takes nothing").catch(() => undefined);
      };
      pace = new ReaderPace(controller, cut, every);
    },
    async pull(controller) {
      pace?.took();
      const next = await readBlock(lines);
      // Leaving ends the read that was under way; what it brought has nobody to go to.
      if (over) return;
      pace?.spoke();
      if (next.type === "block") controller.enqueue(utf8(next.text));
      else if (next.type === "broken") end(controller, failure(next.code), next.text);
      else end(controller, null);
    },
    async cancel(reason) {
      over = true;
      pace?.stop();
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
