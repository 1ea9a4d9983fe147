/** Ed25519 keys for chain heads, as JSON Web Keys. Owns how one is made and how one is retired. */
import { createHash, generateKeyPairSync } from "node:crypto";

/** Objects that a deploy has not reached yet may sign with the old key for this long. */
const OVERLAP_SECONDS = 3_600;

const seconds = (now) => Math.floor(now / 1_000);

/** RFC 7638. */
function thumbprint(x) {
  return createHash("sha256")
    .update(JSON.stringify({ crv: "Ed25519", kty: "OKP", x }))
    .digest("base64url");
}

/** A new private key; `d` is the secret. */
export function newSigningKey(now = Date.now()) {
  const { x = "", d = "" } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  return { kty: "OKP", crv: "Ed25519", kid: thumbprint(x), nbf: seconds(now), x, d };
}

/** The public half of a key that signs no more, to be listed in HOLDFAST_RETIRED_KEYS. */
export function retiredKey({ x, nbf }, now = Date.now()) {
  const exp = seconds(now) + OVERLAP_SECONDS;
  return {
    kty: "OKP",
    crv: "Ed25519",
    kid: thumbprint(x),
    ...(nbf === undefined ? {} : { nbf }),
    exp,
    x,
  };
}
