/**
 * Signing keys as JSON Web Keys (RFC 7517, RFC 8037): what is published, and what a verifier is given.
 *
 * A key's id is its RFC 7638 thumbprint, checked wherever a key is read: an id cannot be taken over by another key.
 * `nbf` and `exp` are its first and its last second, as in the historical keys of OpenID Federation.
 */
import type { Hasher } from "#ports/hasher.ts";
import type { PublicKey } from "#ports/signing.ts";
import { fromBase64Url, toBase64Url } from "#shared/base64.ts";
import { canonicalJson, isJsonObject, utf8, type Json, type JsonObject } from "#shared/json.ts";

const KEY_BYTES = 32;
const SECOND = 1_000;

export function keyIdOf(x: string, hasher: Hasher): string {
  const digest = hasher.sha256(utf8(canonicalJson({ crv: "Ed25519", kty: "OKP", x })));
  return toBase64Url(fromHex(digest));
}

/** Null for anything but an Ed25519 public key whose id, where it names one, is its own. */
export function parseJwk(value: Json | undefined, hasher: Hasher): PublicKey | null {
  if (!isJsonObject(value) || value["kty"] !== "OKP" || value["crv"] !== "Ed25519") return null;
  const { x } = value;
  if (typeof x !== "string" || fromBase64Url(x)?.byteLength !== KEY_BYTES) return null;
  const id = keyIdOf(x, hasher);
  const notBefore = toMillis(value["nbf"]);
  const notAfter = toMillis(value["exp"]);
  if ((value["kid"] ?? id) !== id || notBefore === undefined || notAfter === undefined) return null;
  return { id, x, notBefore, notAfter };
}

/** A JWKS, or one key. Null when any of it is no key: a trust root is not taken in part. */
export function parseKeySet(value: Json, hasher: Hasher): readonly PublicKey[] | null {
  const listed = isJsonObject(value) ? value["keys"] : undefined;
  const entries: readonly Json[] = Array.isArray(listed) ? listed : [value];
  const keys = entries.map((entry) => parseJwk(entry, hasher));
  const known = keys.filter((key) => key !== null);
  const isUnique = new Set(known.map(({ id }) => id)).size === keys.length;
  return known.length === keys.length && isUnique ? known : null;
}

export function toJwk({ id, x, notBefore, notAfter }: PublicKey): JsonObject {
  return {
    alg: "Ed25519",
    crv: "Ed25519",
    ...(notAfter === null ? {} : { exp: notAfter / SECOND }),
    kid: id,
    kty: "OKP",
    ...(notBefore === null ? {} : { nbf: notBefore / SECOND }),
    use: "sig",
    x,
  };
}

export function toRing(keys: readonly PublicKey[]): ReadonlyMap<string, PublicKey> {
  return new Map(keys.map((key) => [key.id, key]));
}

/** Null for none, undefined for what is no time. */
function toMillis(value: Json | undefined): number | null | undefined {
  if (value === undefined) return null;
  const isTime = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isTime && value <= Number.MAX_SAFE_INTEGER / SECOND ? value * SECOND : undefined;
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
