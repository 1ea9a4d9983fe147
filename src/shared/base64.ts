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
