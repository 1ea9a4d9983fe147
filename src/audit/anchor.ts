/**
 * An anchor: which head is signed, over which bytes, and whether one holds.
 *
 * Places follow from the events alone (each run's end, and each seq that `ANCHOR_EVERY` divides), so a delivery that is
 * repeated anchors the same places (H3). `scripts/verify_log.py` is the same check in another language.
 */
import type { Anchor, AnchorStatement } from "#ports/anchors.ts";
import type { PublicKey, SignatureCheck, Signer } from "#ports/signing.ts";
import { canonicalJson, utf8 } from "#shared/json.ts";

/** PERSISTED CONTRACT: names the purpose, so that no other signed text can pass for an anchor. */
const ANCHOR_FORMAT = "holdfast-anchor/1";
/** A long run leaves at most this many events without a signed head behind them. */
export const ANCHOR_EVERY = 100;

export type SignatureFault = "key_unknown" | "key_not_valid" | "signature_invalid";

export function anchorMessage(statement: AnchorStatement): Uint8Array {
  const { agent, at, hash, keyId, logId, seq, tenant, thread } = statement;
  return utf8(
    canonicalJson({ format: ANCHOR_FORMAT, agent, at, hash, keyId, logId, seq, tenant, thread }),
  );
}

export async function signAnchor(
  statement: Omit<AnchorStatement, "keyId">,
  signer: Signer,
): Promise<Anchor> {
  const named = { ...statement, keyId: signer.keyId };
  return { ...named, signature: await signer.sign(anchorMessage(named)) };
}

/** By key id; the last of two with one id would win, so whoever builds it refuses duplicates. */
export type KeyRing = ReadonlyMap<string, PublicKey>;

export interface Signed {
  readonly keyId: string;
  readonly signature: string;
  readonly at: number;
}

/** Null when a key of the ring signed this message within its time. */
export async function findSignatureFault(
  signed: Signed,
  message: Uint8Array,
  trust: { readonly keys: KeyRing; readonly check: SignatureCheck },
): Promise<SignatureFault | null> {
  const key = trust.keys.get(signed.keyId);
  if (key === undefined) return "key_unknown";
  const early = key.notBefore !== null && signed.at < key.notBefore;
  if (early || (key.notAfter !== null && signed.at >= key.notAfter)) return "key_not_valid";
  const { signature } = signed;
  return (await trust.check.verify(key, { message, signature })) ? null : "signature_invalid";
}
