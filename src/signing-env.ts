/**
 * The signing keys of a deployment: the secret HOLDFAST_SIGNING_KEY (a private JWK) and the public keys it had before,
 * HOLDFAST_RETIRED_KEYS (a JWKS). A wrong value fails here, once, and is never quoted: it may be the secret.
 */
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { WebCryptoSigner } from "#adapters/signing/web-crypto-signing.ts";
import { parseJwk, parseKeySet } from "#audit/key-set.ts";
import type { PublicKey, Signer } from "#ports/signing.ts";
import { fromBase64Url } from "#shared/base64.ts";
import { AppError } from "#shared/errors.ts";
import { isJsonObject, type Json } from "#shared/json.ts";

const SEED_BYTES = 32;

export interface SigningEnv {
  readonly HOLDFAST_SIGNING_KEY?: string;
  readonly HOLDFAST_RETIRED_KEYS?: string;
}
export interface Signing {
  /** Null: this deployment signs nothing. */
  readonly signer: Signer | null;
  /** All that are published: the key that signs now, then those before it. */
  readonly keys: readonly PublicKey[];
}

export function parseSigning(env: SigningEnv): Signing {
  const hasher = new NodeHasher();
  const retired = parseKeySet(readJson("HOLDFAST_RETIRED_KEYS", env) ?? { keys: [] }, hasher);
  if (retired === null || retired.some(({ notAfter }) => notAfter === null))
    throw invalid(
      "HOLDFAST_RETIRED_KEYS",
      'must be {"keys":[...]} of Ed25519 JWKs that have an exp',
    );
  const secret = readJson("HOLDFAST_SIGNING_KEY", env);
  if (secret === null) return { signer: null, keys: retired };
  const key = parseJwk(secret, hasher);
  const d = isJsonObject(secret) ? secret["d"] : undefined;
  if (key === null || typeof d !== "string" || fromBase64Url(d)?.byteLength !== SEED_BYTES)
    throw invalid(
      "HOLDFAST_SIGNING_KEY",
      "must be a private Ed25519 JWK: npm run audit:key --silent",
    );
  if (retired.some(({ id }) => id === key.id))
    throw invalid("HOLDFAST_RETIRED_KEYS", "must not list the key that signs now");
  return { signer: new WebCryptoSigner({ keyId: key.id, x: key.x, d }), keys: [key, ...retired] };
}

/** Null when it is not set. */
function readJson(variable: keyof SigningEnv, env: SigningEnv): Json {
  const text = env[variable] ?? "";
  if (text === "") return null;
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw invalid(variable, "is not JSON");
  }
}

function invalid(variable: string, problem: string): AppError {
  return new AppError("config_invalid", `${variable} ${problem}`, {
    kind: "faulted",
    detail: { variable },
  });
}
