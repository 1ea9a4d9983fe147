/** FrameLines: the stream of a thread as it crosses RPC, one JSON line a frame, read by every protocol. */

/** A frame holds one event, whose row may hold a few megabytes of text; what is longer is not a frame. */
const MAX_FRAME_UNITS = 32 * 1024 * 1024;

/** Splits bytes into lines, across chunks and inside characters. */
export class FrameLines {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #buffer = "";
  #scanned = 0;

  constructor(frames: ReadableStream<Uint8Array>) {
    this.#reader = frames.getReader();
  }

  /** Null at the end. Throws when the upstream breaks, which includes an end in the middle of a line. */
  async next(): Promise<string | null> {
    for (;;) {
      const end = this.#buffer.indexOf("\n", this.#scanned);
      if (end >= 0) return this.#take(end);
      this.#scanned = this.#buffer.length;
      if (this.#scanned > MAX_FRAME_UNITS) throw new RangeError("frame too long");
      const { done, value } = await this.#reader.read();
      if (!done) {
        this.#buffer += this.#decoder.decode(value, { stream: true });
        continue;
      }
      if (this.#buffer !== "") throw new TypeError("stream ended inside a frame");
      return null;
    }
  }

  /** A line that has arrived already; null where the next one has to be waited for. */
  arrived(): string | null {
    const end = this.#buffer.indexOf("\n", this.#scanned);
    return end < 0 ? null : this.#take(end);
  }

  async cancel(reason: unknown): Promise<void> {
    await this.#reader.cancel(reason);
  }

  #take(end: number): string {
    const line = this.#buffer.slice(0, end);
    this.#buffer = this.#buffer.slice(end + 1);
    this.#scanned = 0;
    return line;
  }
}
