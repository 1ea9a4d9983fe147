/**
 * Hasher over `node:crypto`, which workerd offers too under `nodejs_compat`. WebCrypto cannot serve: it is async. The
 * one-shot `hash` cannot either: in workerd it makes a hash object all the same, and wants the parts copied into one.
 */
import { createHash } from "node:crypto";
import type { Hasher, RunningHash } from "#ports/hasher.ts";

export class NodeHasher implements Hasher {
  sha256(...parts: readonly Uint8Array[]): string {
    const hash = createHash("sha256");
    for (const part of parts) hash.update(part);
    return hash.digest("hex");
  }

  start(): RunningHash {
    const hash = createHash("sha256");
    return {
      update: (bytes) => void hash.update(bytes),
      digest: () => hash.copy().digest("hex"),
    };
  }
}
