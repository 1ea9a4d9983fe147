/** Hasher over `node:crypto`, which workerd offers too under `nodejs_compat`. WebCrypto cannot serve: it is async. */
import { createHash } from "node:crypto";
import type { Hasher } from "#ports/hasher.ts";

export class NodeHasher implements Hasher {
  sha256(...parts: readonly Uint8Array[]): string {
    const hash = createHash("sha256");
    for (const part of parts) hash.update(part);
    return hash.digest("hex");
  }
}
