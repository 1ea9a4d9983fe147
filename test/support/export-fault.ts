/** What is wrong with an exported log, by its own keys: for suites whose subject is something else. */
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { WebCryptoCheck } from "#adapters/signing/web-crypto-signing.ts";
import { verifyAuditExport } from "#audit/verify-export.ts";

/** Null when it verifies. */
export async function exportFault(text: string): Promise<string | null> {
  const trust = { hasher: new NodeHasher(), check: new WebCryptoCheck(), keys: null };
  const verified = await verifyAuditExport(new Blob([text]).stream(), trust);
  return verified.ok ? null : `${verified.error.reason} at ${verified.error.seq}`;
}
