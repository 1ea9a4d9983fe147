/** SecretBox over WebCrypto: AES-256-GCM, under a key that is derived (HKDF) from the deployment's own secret. */
import type { SecretBox } from "#ports/secret-box.ts";
import { fromBase64Url, toBase64Url } from "#shared/base64.ts";
import { utf8 } from "#shared/json.ts";

const NONCE_BYTES = 12;
const PURPOSE = "holdfast secrets of webhooks, 1";

export class WebCryptoSecretBox implements SecretBox {
  readonly #secret: string;
  #key: Promise<CryptoKey> | null = null;

  constructor(secret: string) {
    this.#secret = secret;
  }

  async seal(secret: string, context: string): Promise<string> {
    const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const sealed = await crypto.subtle.encrypt(gcm(iv, context), await this.#open(), utf8(secret));
    const bytes = new Uint8Array(NONCE_BYTES + sealed.byteLength);
    bytes.set(iv);
    bytes.set(new Uint8Array(sealed), NONCE_BYTES);
    return toBase64Url(bytes);
  }

  async open(sealed: string, context: string): Promise<string | null> {
    const bytes = fromBase64Url(sealed);
    if (bytes === null || bytes.byteLength <= NONCE_BYTES) return null;
    try {
      const [iv, text] = [bytes.slice(0, NONCE_BYTES), bytes.slice(NONCE_BYTES)];
      const opened = await crypto.subtle.decrypt(gcm(iv, context), await this.#open(), text);
      return new TextDecoder().decode(opened);
    } catch {
      return null;
    }
  }

  #open(): Promise<CryptoKey> {
    this.#key ??= derive(this.#secret);
    return this.#key;
  }
}

async function derive(secret: string): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey("raw", utf8(secret), "HKDF", false, ["deriveKey"]);
  return crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8(PURPOSE) },
    material,
    { name: "AES-GCM", length: 256 },
    false,
    ["encrypt", "decrypt"],
  );
}

function gcm(iv: Uint8Array<ArrayBuffer>, context: string) {
  return { name: "AES-GCM", iv, additionalData: utf8(context) };
}
