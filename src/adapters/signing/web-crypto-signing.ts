/** Ed25519 over WebCrypto, which Node and workerd both have. */
import type { PublicKey, SignatureCheck, Signer } from "#ports/signing.ts";
import { fromBase64Url, toBase64Url } from "#shared/base64.ts";

const ALGORITHM = { name: "Ed25519" } as const;

/** The private half stays in this object; WebCrypto does not give it out again. */
export class WebCryptoSigner implements Signer {
  readonly keyId: string;
  readonly #key: Promise<CryptoKey>;

  /** `x` and `d` are those of the JWK; a pair that does not belong together is refused at the first signature. */
  constructor(key: { readonly keyId: string; readonly x: string; readonly d: string }) {
    this.keyId = key.keyId;
    const jwk = { kty: "OKP", crv: "Ed25519", x: key.x, d: key.d };
    this.#key = crypto.subtle.importKey("jwk", jwk, ALGORITHM, false, ["sign"]);
    // Whoever signs hears of it; a process that never signs must not die of it.
    this.#key.catch(() => undefined);
  }

  async sign(message: Uint8Array): Promise<string> {
    return toBase64Url(
      new Uint8Array(await crypto.subtle.sign(ALGORITHM, await this.#key, toBuffer(message))),
    );
  }
}

export class WebCryptoCheck implements SignatureCheck {
  /** Few: a deployment rotates now and then. */
  readonly #imported = new Map<string, Promise<CryptoKey>>();

  async verify(
    key: PublicKey,
    signed: { readonly message: Uint8Array; readonly signature: string },
  ): Promise<boolean> {
    const signature = fromBase64Url(signed.signature);
    if (signature === null) return false;
    try {
      const imported = await this.#load(key.x);
      return await crypto.subtle.verify(
        ALGORITHM,
        imported,
        toBuffer(signature),
        toBuffer(signed.message),
      );
    } catch {
      // A key that is no point of the curve signs nothing.
      return false;
    }
  }

  #load(x: string): Promise<CryptoKey> {
    const known = this.#imported.get(x);
    if (known !== undefined) return known;
    const jwk = { kty: "OKP", crv: "Ed25519", x };
    const imported = crypto.subtle.importKey("jwk", jwk, ALGORITHM, false, ["verify"]);
    this.#imported.set(x, imported);
    return imported;
  }
}

/** WebCrypto takes views of plain buffers only. */
function toBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
