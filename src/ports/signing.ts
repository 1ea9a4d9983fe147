/**
 * Signing: Ed25519 (RFC 8032) over chain heads and exports, and the public keys that check it.
 *
 * A key has an id in each signature and a time in which it signs. Old keys stay published, so that what they signed can be
 * checked for ever; a signature made outside a key's time is as good as none.
 * Contract (suite: test/contracts/signing.ts).
 */

/** As published in the JWKS. `id` is the RFC 7638 thumbprint of the key, so that two keys never share one. */
export interface PublicKey {
  readonly id: string;
  /** The 32 bytes of the key, base64url without padding. */
  readonly x: string;
  /** Epoch ms from which, inclusive, and until which, exclusive, it signs; null: no bound. */
  readonly notBefore: number | null;
  readonly notAfter: number | null;
}

export interface Signer {
  readonly keyId: string;
  /** Base64url without padding, 64 bytes. The same key and message give the same signature. */
  sign(message: Uint8Array): Promise<string>;
}

export interface SignatureCheck {
  /** False for a signature or key that is not well-formed, too. */
  verify(
    key: PublicKey,
    signed: { readonly message: Uint8Array; readonly signature: string },
  ): Promise<boolean>;
}
