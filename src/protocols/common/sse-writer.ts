/**
 * Server-sent events from blocks of text, for protocols whose stream is an answer. Pulled by the client's demand, kept open
 * through proxies by comments, and told when the client leaves or is cut (P9).
 */
import { utf8 } from "#shared/json.ts";
import { ReaderPace, type Every } from "./reader-pace.ts";

export const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

export interface SseReader {
  /** Its connection is gone. */
  readonly left: () => Promise<void>;
  /** It takes nothing: breaks the source off, so that the blocks end with the protocol's own words for that. */
  readonly cut: () => Promise<void>;
  readonly every?: Every;
}

export function toSse(
  blocks: AsyncGenerator<string, void, undefined>,
  { left, cut, every }: SseReader,
): ReadableStream<Uint8Array> {
  let over = false;
  let pace: ReaderPace | undefined;
  const finish = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    await cut();
    for await (const block of blocks) if (!over) controller.enqueue(utf8(block));
    if (over) return;
    over = true;
    controller.close();
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      pace = new ReaderPace(controller, () => void finish(controller), every);
    },
    async pull(controller) {
      pace?.took();
      const next = await blocks.next();
      // Leaving ends the read that was under way; what it brought has nobody to go to.
      if (over) return;
      pace?.spoke();
      if (next.done !== true) return controller.enqueue(utf8(next.value));
      over = true;
      pace?.stop();
      controller.close();
    },
    async cancel() {
      over = true;
      pace?.stop();
      await left();
    },
  });
}
