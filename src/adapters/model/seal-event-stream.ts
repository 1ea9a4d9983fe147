/**
 * A fetch that ends an event stream properly. An event-stream parser drops a last frame that no blank line follows, and
 * with it the finish reason of an answer that is in fact complete. A frame that was cut in the middle stays dropped.
 */
const NEWLINE = new TextEncoder().encode("\n\n");

export function sealingFetch(inner: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok || response.body === null || !type.includes("text/event-stream"))
      return response;
    return new Response(response.body.pipeThrough(sealEventStream()), response);
  };
}

export function sealEventStream(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let line = "";
  return new TransformStream({
    transform(chunk, controller) {
      const text = decoder.decode(chunk, { stream: true });
      const end = text.lastIndexOf("\n");
      line = end === -1 ? line + text : text.slice(end + 1);
      controller.enqueue(chunk);
    },
    flush(controller) {
      if (isWholeLine(line + decoder.decode())) controller.enqueue(NEWLINE);
    },
  });
}

function isWholeLine(line: string): boolean {
  const text = line.trim();
  if (text === "") return true;
  if (!text.startsWith("data:")) return false;
  const data = text.slice("data:".length).trim();
  if (data === "[DONE]") return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}
