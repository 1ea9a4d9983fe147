/**
 * Output of a sandbox (S3): head and tail are kept while it is produced, what lies between is only counted. Pure.
 */
import { utf8 } from "#shared/json.ts";
import type { SandboxOutput } from "#ports/sandbox.ts";

/** What a producer kept. When it kept all, `tail` is empty. Both are whole characters. */
export interface KeptOutput {
  readonly head: string;
  readonly tail: string;
  /** All that was printed, in bytes of UTF-8. */
  readonly bytes: number;
}

/** Keeps at most `maxBytes` characters at either end: always enough for `toSandboxOutput` to fill its budget. */
export class OutputCapture {
  readonly #maxBytes: number;
  #head = "";
  #tail = "";
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  print(text: string): void {
    this.#bytes += utf8(text).length;
    const room = this.#maxBytes - this.#head.length;
    this.#head += text.slice(0, Math.max(0, room));
    if (text.length > room)
      this.#tail = (this.#tail + text.slice(Math.max(0, room))).slice(-this.#maxBytes);
  }

  kept(): KeptOutput {
    return { head: this.#head, tail: this.#tail, bytes: this.#bytes };
  }
}

export function toSandboxOutput(kept: KeptOutput, maxBytes: number): SandboxOutput {
  const whole = utf8(kept.head + kept.tail);
  if (kept.bytes <= maxBytes && whole.length === kept.bytes) {
    return {
      stdout: (kept.head + kept.tail).toWellFormed(),
      stdoutBytes: kept.bytes,
      truncated: false,
    };
  }
  const marker = `\n[... ${kept.bytes} bytes printed, the middle is cut ...]\n`;
  const room = Math.max(0, maxBytes - utf8(marker).length);
  const headBytes = Math.ceil(room / 2);
  const head = takeStart(utf8(kept.head), headBytes);
  const tail = takeEnd(utf8(kept.head + kept.tail), room - headBytes);
  const stdout = room === 0 ? takeStart(utf8(marker), maxBytes) : `${head}${marker}${tail}`;
  return { stdout, stdoutBytes: kept.bytes, truncated: true };
}

const DECODER = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;

/** At most `limit` bytes, cut before a character that would not fit whole. */
function takeStart(bytes: Uint8Array, limit: number): string {
  let end = Math.min(limit, bytes.length);
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return DECODER.decode(bytes.subarray(0, end));
}

function takeEnd(bytes: Uint8Array, limit: number): string {
  let start = Math.max(0, bytes.length - limit);
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return DECODER.decode(bytes.subarray(start));
}
