/**
 * Bytes as text, strictly: what is decoded has one spelling, so that no change of the text leaves the bytes as they were.
 *
 * Owns standard base64 with padding (exports) and base64url without (keys, signatures).
 */

/** Whole groups of three bytes, so that the pieces of large content join without padding between. */
const SLICE = 24_576;
const ALPHABET = /^[A-Za-z0-9+/]*={0,2}$/;
/** Before padding, the bits that belong to no byte are zero. */
const LAST_OF_ONE = "AQgw";
const LAST_OF_TWO = "AEIMQUYcgkosw048";

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.byteLength; at += SLICE) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + SLICE)));
  }
  return text;
}

/** Null for anything but the one spelling of these bytes: `atob` alone would forgive blanks and missing padding. */
export function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !ALPHABET.test(text) || !hasCleanEnd(text)) return null;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

const PAD = 0x3d;
/** What no character of the alphabet is worth. */
const NONE = 0x40;
const VALUES = new Uint8Array(256).fill(NONE);
const CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
for (let value = 0; value < CHARACTERS.length; value += 1)
  VALUES[CHARACTERS.charCodeAt(value)] = value;

/**
 * As strict as `fromBase64`, from bytes into memory that is there: how many bytes it wrote at `at`, null for anything but
 * the one spelling. What lies behind `at` is lost either way.
 */
export function decodeBase64(text: Uint8Array, target: Uint8Array, at: number): number | null {
  const { byteLength } = text;
  if (byteLength % 4 !== 0) return null;
  const padding = text[byteLength - 1] !== PAD ? 0 : text[byteLength - 2] !== PAD ? 1 : 2;
  const whole = padding === 0 ? byteLength : byteLength - 4;
  let to = at;
  let seen = 0;
  for (let from = 0; from < whole; from += 4) {
    const a = valueAt(text, from);
    const b = valueAt(text, from + 1);
    const c = valueAt(text, from + 2);
    const d = valueAt(text, from + 3);
    seen |= a | b | c | d;
    target[to] = (a << 2) | (b >> 4);
    target[to + 1] = (b << 4) | (c >> 2);
    target[to + 2] = (c << 6) | d;
    to += 3;
  }
  if (padding > 0) {
    const a = valueAt(text, whole);
    const b = valueAt(text, whole + 1);
    const c = padding === 1 ? valueAt(text, whole + 2) : 0;
    // Before padding, the bits that belong to no byte are zero.
    const rest = padding === 1 ? c & 0b11 : b & 0b1111;
    seen |= a | b | c | (rest === 0 ? 0 : NONE);
    target[to] = (a << 2) | (b >> 4);
    if (padding === 1) target[to + 1] = (b << 4) | (c >> 2);
    to += 3 - padding;
  }
  return seen < NONE ? to - at : null;
}

function valueAt(text: Uint8Array, at: number): number {
  return VALUES[text[at] ?? 0] ?? NONE;
}

function hasCleanEnd(text: string): boolean {
  if (text.endsWith("==")) return LAST_OF_ONE.includes(text.at(-3) ?? "");
  return !text.endsWith("=") || LAST_OF_TWO.includes(text.at(-2) ?? "");
}

export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function fromBase64Url(text: string): Uint8Array | null {
  if (/[+/=]/.test(text)) return null;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  return fromBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, "="));
}
