/**
 * KeyStore: API keys by the SHA-256 of their text. The text itself is stored nowhere (Z1).
 *
 * Contract (suite: test/contracts/key-store.ts): answers the record as stored, revoked and expired ones included; the
 * caller judges them, because a cached answer must be judged again at each use.
 */
import type { TenantId } from "#shared/ids.ts";

export interface KeyRecord {
  /** `key_...`: opaque, and the principal id of whoever holds the key. */
  readonly id: string;
  readonly tenant: TenantId;
  readonly kind: "service" | "operator";
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** What a caller was let in with: the key itself, or a token that it vouches for. */
export interface Credential {
  readonly keyId: string;
  /** Of the token, or of the key; null where it does not end by itself. */
  readonly expiresAt: number | null;
}

/** A ticket that opens one socket, with what its bearer was let in with. */
export interface StoredTicket {
  readonly ticket: string;
  readonly expiresAt: number;
  readonly credential: Credential;
}

export interface KeyStore {
  findByHash(hash: string): Promise<KeyRecord | null>;
  findById(id: string): Promise<KeyRecord | null>;
}
