/**
 * Hasher over `node:crypto`, which workerd offers too under `nodejs_compat`. WebCrypto cannot serve: it is async.
 *
 * One call a digest: a hash object is a stream, and making one costs as much as hashing a row.
 */
import { hash } from "node:crypto";
import type { Hasher } from "#ports/hasher.ts";

export class NodeHasher implements Hasher {
  sha256(...parts: readonly Uint8Array[]): string {
    const [first] = parts;
    return hash("sha256", parts.length === 1 && first !== undefined ? first : joined(parts), "hex");
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.byteLength;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
