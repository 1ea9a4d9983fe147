/**
 * FrameStream: a subscription as bytes that cross RPC: one JSON line a frame.
 *
 * Pulls: the reader's demand drives the subscription, so a slow client holds no more than one chunk here. What is there
 * crosses together, up to `CHUNK_UNITS`. An event is written as JSON once for all of its readers. Ends after the final event of
 * the run it was opened for.
 */
import { isRunEnd } from "#kernel/run-events.ts";
import type { EventView, StreamFrame } from "#ports/thread-gateway.ts";
import type { StreamSubscription } from "#runner/stream.ts";
import { utf8 } from "#shared/json.ts";

const CHUNK_UNITS = 64 * 1024;

export function toByteStream(
  subscription: StreamSubscription,
  runId: string | null,
): ReadableStream<Uint8Array> {
  const batches = subscription.batches();
  let batch: Iterator<StreamFrame> | null = null;
  let ended = false;
  /** Lines of frames that are there; empty where there are none now. */
  const take = (): string => {
    let text = "";
    while (!ended && batch !== null && text.length < CHUNK_UNITS) {
      const next = batch.next();
      if (next.done === true) batch = null;
      else {
        ended = isFinal(next.value, runId);
        text += toLine(next.value);
      }
    }
    return text;
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const text = take();
        if (text !== "") return controller.enqueue(utf8(text));
        const next = ended ? { done: true as const, value: undefined } : await batches.next();
        if (next.done === true) {
          subscription.close();
          return controller.close();
        }
        batch = next.value[Symbol.iterator]();
      }
    },
    cancel() {
      subscription.close();
    },
  });
}

/** By the header, which a log hands to all of its readers. */
const written = new WeakMap<EventView["header"], string>();

function toLine(frame: StreamFrame): string {
  if (frame.type !== "event") return `${JSON.stringify(frame)}\n`;
  const { type, cursor, event } = frame;
  const known = written.get(event.header);
  const text = known ?? JSON.stringify(event);
  if (known === undefined) written.set(event.header, text);
  return `{"type":"${type}","cursor":${JSON.stringify(cursor)},"event":${text}}\n`;
}

function isFinal(frame: StreamFrame, runId: string | null): boolean {
  return (
    runId !== null &&
    frame.type === "event" &&
    frame.event.header.run === runId &&
    isRunEnd(frame.event.header.type)
  );
}
