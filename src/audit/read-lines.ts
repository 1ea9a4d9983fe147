/** Lines of a file that arrives in pieces: split at line feeds alone, each ended by one, at most `MAX_LINE_BYTES` long. */

/** The largest event of a thread is a few MiB; more is no line of ours, and must not fill memory. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const LINE_FEED = 10;

/**
 * In batches, one for each piece that ends a line. Null where the rest is no line: too long, or without its line feed.
 * Lines are views of their piece, valid until the next batch is asked for; a source may then use its memory again.
 */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly (Uint8Array | null)[]> {
  let pending: Uint8Array[] = [];
  let waiting = 0;
  for await (const piece of pieces) {
    const lines: Uint8Array[] = [];
    let from = 0;
    for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, from)) {
      const rest = piece.subarray(from, at);
      lines.push(waiting === 0 ? rest : join([...pending, rest]));
      pending = [];
      waiting = 0;
      from = at + 1;
    }
    if (lines.length > 0) yield lines;
    if (from === piece.byteLength) continue;
    // A copy, which `slice` of a Node buffer is not.
    pending.push(new Uint8Array(piece.subarray(from)));
    waiting += piece.byteLength - from;
    if (waiting <= MAX_LINE_BYTES) continue;
    yield [null];
    return;
  }
  if (waiting > 0) yield [null];
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
