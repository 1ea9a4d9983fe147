/**
 * The line of an event in an export, written as text and read from bytes.
 *
 * Most lines of a file are of this kind, so reading makes no text but hash and header, and no copy but the unescaped
 * header and the decoded salt and payload, in memory that the next line takes over. There is one spelling of a line:
 *
 *     {"hash":"<64 hex>","header":"<printable ASCII, each quote escaped>","payload":<base64>,"salt":<base64>,"seq":<whole>}
 */
import type { RawEvent } from "#ports/event-log.ts";
import { decodeBase64, toBase64 } from "#shared/base64.ts";
import { utf8 } from "#shared/json.ts";

/** What is read is valid until the next line is. */
export interface EventLine extends RawEvent {
  /** The bytes of `header`. */
  readonly headerBytes: Uint8Array;
}

/** Keys in canonical order. A header has no character that needs an escape but its own quotes. */
export function toEventText({ seq, header, hash, salt, payload }: RawEvent): string {
  const bytes = (value: Uint8Array | null): string =>
    value === null ? "null" : `"${toBase64(value)}"`;
  return `{"hash":${JSON.stringify(hash)},"header":${JSON.stringify(header)},"payload":${bytes(payload)},"salt":${bytes(salt)},"seq":${seq}}`;
}

const HASH = utf8('{"hash":"');
const HEADER = utf8('","header":"');
const PAYLOAD = utf8('","payload":');
const SALT = utf8(',"salt":');
const SEQ = utf8(',"seq":');
const NULL = utf8("null");
const HASH_LENGTH = 64;
const MAX_DIGITS = 16;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSE = 0x7d;
const ZERO = 0x30;
/** What stands for itself in a header. */
const IS_PLAIN = new Uint8Array(256).fill(1, 0x20, 0x7f);
IS_PLAIN[QUOTE] = 0;
IS_PLAIN[BACKSLASH] = 0;
const IS_HEX = new Uint8Array(256).fill(1, ZERO, ZERO + 10).fill(1, 0x61, 0x67);
const LATIN = new TextDecoder("latin1");

export function isEventLine(line: Uint8Array): boolean {
  return startsAt(line, 0, HASH);
}

export class EventLineReader {
  #scratch = new Uint8Array(16_384);

  /** Null for whatever is not the one spelling of an event. */
  read(line: Uint8Array): EventLine | null {
    // Nothing that is decoded is longer than its line.
    if (this.#scratch.byteLength < line.byteLength)
      this.#scratch = new Uint8Array(2 * line.byteLength);
    const hashEnd = HASH.byteLength + HASH_LENGTH;
    const headerFrom = hashEnd + HEADER.byteLength;
    const isStart = isEventLine(line) && isHex(line, HASH.byteLength, hashEnd);
    if (!isStart || !startsAt(line, hashEnd, HEADER)) return null;
    const headerEnd = this.#unescape(line, headerFrom);
    if (headerEnd === null || !startsAt(line, headerEnd.from, PAYLOAD)) return null;
    const payload = findLiteral(line, headerEnd.from + PAYLOAD.byteLength);
    if (payload === null || !startsAt(line, payload.end, SALT)) return null;
    const salt = findLiteral(line, payload.end + SALT.byteLength);
    if (salt === null || !startsAt(line, salt.end, SEQ)) return null;
    const seq = toSeq(line, salt.end + SEQ.byteLength);
    if (seq === null) return null;
    // Salt and payload side by side, in the order in which they are hashed.
    const saltBytes = this.#decode(line, salt, headerEnd.length);
    const saltEnd = headerEnd.length + (saltBytes?.byteLength ?? 0);
    const payloadBytes = this.#decode(line, payload, saltEnd);
    if (saltBytes === undefined || payloadBytes === undefined) return null;
    const headerBytes = this.#scratch.subarray(0, headerEnd.length);
    return {
      seq,
      hash: LATIN.decode(line.subarray(HASH.byteLength, hashEnd)),
      header: LATIN.decode(headerBytes),
      headerBytes,
      salt: saltBytes,
      payload: payloadBytes,
    };
  }

  /** Up to the first quote without a backslash; null at anything that the spelling does not allow. */
  #unescape(
    line: Uint8Array,
    from: number,
  ): { readonly from: number; readonly length: number } | null {
    const scratch = this.#scratch;
    const end = line.byteLength;
    let length = 0;
    let at = from;
    while (at < end) {
      const byte = line[at] ?? 0;
      if (IS_PLAIN[byte] === 1) {
        scratch[length] = byte;
        at += 1;
      } else if (byte === BACKSLASH && line[at + 1] === QUOTE) {
        scratch[length] = QUOTE;
        at += 2;
      } else return byte === QUOTE ? { from: at, length } : null;
      length += 1;
    }
    return null;
  }

  /** Undefined for what is no base64. */
  #decode(line: Uint8Array, literal: Literal, at: number): Uint8Array | null | undefined {
    if (literal.isNull) return null;
    const text = line.subarray(literal.from + 1, literal.end - 1);
    const length = decodeBase64(text, this.#scratch, at);
    return length === null ? undefined : this.#scratch.subarray(at, at + length);
  }
}

/** `null`, or what stands between two quotes, them included. */
interface Literal {
  readonly from: number;
  readonly end: number;
  readonly isNull: boolean;
}

function findLiteral(line: Uint8Array, from: number): Literal | null {
  if (startsAt(line, from, NULL)) return { from, end: from + NULL.byteLength, isNull: true };
  const close = line[from] === QUOTE ? line.indexOf(QUOTE, from + 1) : -1;
  return close < 0 ? null : { from, end: close + 1, isNull: false };
}

/** The whole number that ends the line. */
function toSeq(line: Uint8Array, from: number): number | null {
  const end = line.byteLength - 1;
  const length = end - from;
  if (line[end] !== CLOSE || length < 1 || length > MAX_DIGITS) return null;
  if (line[from] === ZERO && length > 1) return null;
  let seq = 0;
  for (let at = from; at < end; at += 1) {
    const digit = (line[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return null;
    seq = seq * 10 + digit;
  }
  return Number.isSafeInteger(seq) ? seq : null;
}

/** Without a branch for each digit: they follow no pattern that a processor could guess. */
function isHex(line: Uint8Array, from: number, to: number): boolean {
  let all = 1;
  for (let at = from; at < to; at += 1) all &= IS_HEX[line[at] ?? 0] ?? 0;
  return all === 1;
}

function startsAt(line: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.byteLength; index += 1)
    if (line[at + index] !== text[index]) return false;
  return true;
}
