/**
 * A body that somebody writes to at their own pace, for a reader with a pace of its own: what lies here for it is bounded (P9).
 * A reader that leaves more than that is cut by the end of the body, behind what it has been given.
 */
const MAX_UNREAD_BYTES = 4 * 1_048_576;

export function toBounded(
  source: ReadableStream<Uint8Array>,
  maxBytes = MAX_UNREAD_BYTES,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const pump = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        controller.enqueue(value);
        if ((controller.desiredSize ?? 0) > 0) continue;
        controller.close();
        return await reader.cancel("the reader is too slow");
      }
    } catch (error) {
      controller.error(error);
    }
  };
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => void pump(controller),
      cancel: (reason) => reader.cancel(reason),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxBytes }),
  );
}
