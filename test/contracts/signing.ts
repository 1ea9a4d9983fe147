/** What every pair of Signer and SignatureCheck keeps; the vectors are those of RFC 8032, section 7.1. */
import { expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { parseJwk } from "#audit/key-set.ts";
import type { PublicKey, SignatureCheck, Signer } from "#ports/signing.ts";
import { toBase64Url } from "#shared/base64.ts";

const VECTORS = [
  {
    seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    message: "",
    signature:
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  },
  {
    seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    key: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    message: "af82",
    signature:
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  },
] as const;

const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
const text = (hex: string): string => toBase64Url(bytes(hex));
const keyOf = (hex: string): PublicKey => ({
  id: "k",
  x: text(hex),
  notBefore: null,
  notAfter: null,
});

export function signingContract(parts: {
  readonly signer: (key: {
    readonly keyId: string;
    readonly x: string;
    readonly d: string;
  }) => Signer;
  readonly check: SignatureCheck;
}): void {
  it.each(VECTORS)(
    "[H1] signs and checks the vector of $message",
    async ({ seed, key, message, signature }) => {
      const signer = parts.signer({ keyId: "k", x: text(key), d: text(seed) });
      expect(await signer.sign(bytes(message))).toBe(text(signature));
      const signed = { message: bytes(message), signature: text(signature) };
      expect(await parts.check.verify(keyOf(key), signed)).toBe(true);
    },
  );

  it("[H1] refuses another message, another key, another signature, and what is none", async () => {
    const [first, second] = VECTORS;
    const good = { message: bytes(second.message), signature: text(second.signature) };
    expect(await parts.check.verify(keyOf(second.key), { ...good, message: bytes("af83") })).toBe(
      false,
    );
    expect(await parts.check.verify(keyOf(first.key), good)).toBe(false);
    expect(await parts.check.verify({ ...keyOf(second.key), x: "" }, good)).toBe(false);
    const last = good.signature.at(-1) === "g" ? "h" : "g";
    for (const signature of [
      "",
      "A",
      text(first.signature),
      `${good.signature}=`,
      good.signature.slice(0, -1) + last,
    ])
      expect(await parts.check.verify(keyOf(second.key), { ...good, signature }), signature).toBe(
        false,
      );
  });

  it("[H4] a key is named by its RFC 7638 thumbprint, and cannot take another's name", () => {
    const x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    const jwk = { kty: "OKP", crv: "Ed25519", x };
    const id = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
    expect(parseJwk(jwk, new NodeHasher())).toMatchObject({ id, notBefore: null });
    expect(parseJwk({ ...jwk, kid: "mine" }, new NodeHasher())).toBeNull();
  });
}
