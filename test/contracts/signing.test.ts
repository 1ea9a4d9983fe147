import { describe } from "vitest";
import { WebCryptoCheck, WebCryptoSigner } from "#adapters/signing/web-crypto-signing.ts";
import { signingContract } from "./signing.ts";

describe("WebCrypto", () =>
  signingContract({ signer: (key) => new WebCryptoSigner(key), check: new WebCryptoCheck() }));
