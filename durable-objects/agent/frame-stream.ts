/**
 * FrameStream: a subscription as bytes that cross RPC: one JSON line a frame.
 *
 * Pulls: the reader's demand drives the subscription, so a slow client holds no buffer here. Ends after the final event
 * of the run it was opened for.
 */
import type { StreamFrame } from "#ports/thread-gateway.ts";
import type { StreamSubscription } from "#runner/stream.ts";
import { utf8 } from "#shared/json.ts";

const FINAL: ReadonlySet<string> = new Set(["run.completed", "run.failed", "run.cancelled"]);

export function toByteStream(
  subscription: StreamSubscription,
  runId: string | null,
): ReadableStream<Uint8Array> {
  const frames = subscription[Symbol.asyncIterator]();
  let ended = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = ended ? { done: true as const, value: undefined } : await frames.next();
      if (next.done === true) {
        subscription.close();
        controller.close();
        return;
      }
      ended = isFinal(next.value, runId);
      controller.enqueue(utf8(`${JSON.stringify(next.value)}\n`));
    },
    cancel() {
      subscription.close();
    },
  });
}

function isFinal(frame: StreamFrame, runId: string | null): boolean {
  return (
    runId !== null &&
    frame.type === "event" &&
    frame.event.header.run === runId &&
    FINAL.has(frame.event.header.type)
  );
}
