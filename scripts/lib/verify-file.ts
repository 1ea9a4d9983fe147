/**
 * The verifier over a file, with what Node does quicker than a port's usual adapter: one-shot hashes, signatures without a
 * thread pool, one piece of memory for all of the file. The checks are those of `#audit`.
 */
import { createPublicKey, hash, verify, type KeyObject } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import type { ExportFault, ExportReport } from "#audit/export-verifier.ts";
import { verifyAuditExport } from "#audit/verify-export.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import type { PublicKey, SignatureCheck } from "#ports/signing.ts";
import { fromBase64Url } from "#shared/base64.ts";
import type { Result } from "#shared/result.ts";

const PIECE = 256 * 1_024;

export function verifyFile(
  path: string,
  keys: readonly PublicKey[] | null,
): Promise<Result<ExportReport, ExportFault>> {
  const trust = { hasher: new QuickHasher(), check: new QuickCheck(), keys };
  return verifyAuditExport(piecesOf(path), trust);
}

/** A stream would take new memory for each piece, and nothing else waits in this process. */
async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = openSync(path, "r");
  // A buffer finds a byte three times as fast as another array.
  const memory = Buffer.allocUnsafe(PIECE);
  try {
    for (let length = readSync(file, memory); length > 0; length = readSync(file, memory))
      yield memory.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** The one-shot hash is twice as fast as a hash object, and takes salt and payload where they lie side by side. */
export class QuickHasher extends NodeHasher {
  override sha256(...parts: readonly Uint8Array[]): string {
    const [first, second] = parts;
    if (first === undefined || parts.length > 2) return super.sha256(...parts);
    if (second === undefined) return hash("sha256", first, "hex");
    const { buffer, byteOffset, byteLength } = first;
    if (second.buffer !== buffer || second.byteOffset !== byteOffset + byteLength)
      return super.sha256(first, second);
    const both = new Uint8Array(buffer, byteOffset, byteLength + second.byteLength);
    return hash("sha256", both, "hex");
  }
}

/** Synchronous underneath: a thread pool would cost more than it saves. */
class QuickCheck implements SignatureCheck {
  readonly #keys = new Map<string, KeyObject>();

  async verify(
    { x }: PublicKey,
    { message, signature }: { readonly message: Uint8Array; readonly signature: string },
  ): Promise<boolean> {
    const bytes = fromBase64Url(signature);
    if (bytes === null) return false;
    try {
      const key =
        this.#keys.get(x) ??
        createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
      this.#keys.set(x, key);
      return verify(null, message, key, bytes);
    } catch {
      return false;
    }
  }
}
