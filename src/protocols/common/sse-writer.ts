/**
 * Server-sent events from blocks of text, for protocols whose stream is an answer. Pulled by the client's demand, kept open
 * through proxies by comments, and told when the client leaves.
 */
import { utf8 } from "#shared/json.ts";

/** Proxies close a connection after 30 to 60 s of silence. */
const KEEP_ALIVE_MS = 15_000;

export const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

export function toSse(
  blocks: AsyncGenerator<string, void, undefined>,
  left: () => Promise<void>,
): ReadableStream<Uint8Array> {
  let quiet = false;
  let gone = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        if (quiet && (controller.desiredSize ?? 0) > 0)
          controller.enqueue(utf8(": keep-alive\n\n"));
        quiet = true;
      }, KEEP_ALIVE_MS);
    },
    async pull(controller) {
      const next = await blocks.next();
      // Leaving ends the read that was under way; what it brought has nobody to go to.
      if (gone) return;
      quiet = false;
      if (next.done !== true) return controller.enqueue(utf8(next.value));
      clearInterval(timer);
      controller.close();
    },
    async cancel() {
      gone = true;
      clearInterval(timer);
      await left();
    },
  });
}
