/**
 * Signatures of webhooks: HMAC-SHA256 in the shapes that senders use, made and checked.
 *
 * `standard` is Standard Webhooks 1 (webhook-id, webhook-timestamp, webhook-signature); `stripe`, `slack` and `github` are
 * those of these services. All but GitHub's hold a time, which must be within the tolerance. Comparison takes as long
 * whatever differs.
 */
import { fromBase64, toBase64 } from "./base64.ts";
import { isJsonObject, utf8, type Json } from "./json.ts";
import { err, ok, type Result } from "./result.ts";

export type HookScheme = "standard" | "github" | "slack" | "stripe";
export const HOOK_SCHEMES = ["standard", "github", "slack", "stripe"] as const;

export interface SignedRequest {
  /** By lower-case name. */
  readonly header: (name: string) => string | null;
  readonly body: Uint8Array;
}
export type SignatureRefusal = "signature_missing" | "signature_invalid" | "timestamp_invalid";

/** Older or newer than this is a replay, or a clock that nobody looks after. */
const TOLERANCE_SECONDS = 300;
/** More signatures than a sender in rotation has. */
const MAX_SIGNATURES = 8;
const STANDARD_PREFIX = "whsec_";

interface Claim {
  /** What is signed stands before the body. */
  readonly prefix: string;
  /** Seconds; null where the scheme has none. */
  readonly at: string | null;
  readonly signatures: readonly string[];
  readonly encoding: "hex" | "base64";
}

export async function checkSignature(
  scheme: HookScheme,
  request: SignedRequest,
  { secrets, now }: { readonly secrets: readonly string[]; readonly now: number },
): Promise<Result<null, SignatureRefusal>> {
  const claim = readClaim(scheme, request);
  if (claim === null) return err("signature_missing");
  if (claim.at !== null && !isNear(claim.at, now)) return err("timestamp_invalid");
  for (const secret of secrets) {
    const made = await hmac(keyOf(scheme, secret), [utf8(claim.prefix), request.body]);
    const text = claim.encoding === "hex" ? toHex(made) : toBase64(made);
    if (claim.signatures.some((signature) => isSame(signature, text))) return ok(null);
  }
  return err("signature_invalid");
}

/** Headers of Standard Webhooks; of several secrets each signs, so that a receiver may rotate at leisure. */
export async function signStandard(
  message: { readonly id: string; readonly at: number; readonly body: string },
  secrets: readonly string[],
): Promise<{ readonly [header: string]: string }> {
  const { id, body } = message;
  const seconds = String(Math.floor(message.at / 1_000));
  const parts = [utf8(`${id}.${seconds}.`), utf8(body)];
  const signatures = await Promise.all(
    secrets.map(async (secret) => `v1,${toBase64(await hmac(keyOf("standard", secret), parts))}`),
  );
  return {
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": signatures.join(" "),
  };
}

/** The sender's own id of the event, the same in each retry; null where there is none. */
export function readEventId(scheme: HookScheme, request: SignedRequest, body: Json): string | null {
  if (scheme === "standard") return request.header("webhook-id");
  if (scheme === "github") return request.header("x-github-delivery");
  const id = isJsonObject(body) ? body[scheme === "slack" ? "event_id" : "id"] : null;
  return typeof id === "string" && id !== "" ? id : null;
}

export function isUsableSecret(scheme: HookScheme, secret: string): boolean {
  return keyOf(scheme, secret).byteLength >= 16;
}

/** A secret in the form that the scheme's senders take. */
export function newSecret(random: Uint8Array): string {
  return `${STANDARD_PREFIX}${toBase64(random)}`;
}

function readClaim(scheme: HookScheme, { header }: SignedRequest): Claim | null {
  switch (scheme) {
    case "standard": {
      const [id, at, signed] = [
        header("webhook-id"),
        header("webhook-timestamp"),
        header("webhook-signature"),
      ];
      if (id === null || at === null || signed === null) return null;
      const signatures = signed
        .split(" ")
        .flatMap((part) => (part.startsWith("v1,") ? [part.slice(3)] : []));
      return toClaim({ prefix: `${id}.${at}.`, at, signatures, encoding: "base64" });
    }
    case "github": {
      const signed = header("x-hub-signature-256") ?? "";
      const signatures = signed.startsWith("sha256=") ? [signed.slice(7)] : [];
      return toClaim({ prefix: "", at: null, signatures, encoding: "hex" });
    }
    case "slack": {
      const at = header("x-slack-request-timestamp");
      const signed = header("x-slack-signature") ?? "";
      const signatures = signed.startsWith("v0=") ? [signed.slice(3)] : [];
      if (at === null) return null;
      return toClaim({ prefix: `v0:${at}:`, at, signatures, encoding: "hex" });
    }
    case "stripe": {
      const parts = (header("stripe-signature") ?? "").split(",").map((part) => part.trim());
      const at = parts.find((part) => part.startsWith("t="))?.slice(2);
      const signatures = parts.flatMap((part) => (part.startsWith("v1=") ? [part.slice(3)] : []));
      if (at === undefined) return null;
      return toClaim({ prefix: `${at}.`, at, signatures, encoding: "hex" });
    }
  }
}

function toClaim(claim: Claim): Claim | null {
  const signatures = claim.signatures.slice(0, MAX_SIGNATURES);
  return signatures.length === 0 ? null : { ...claim, signatures };
}

function isNear(seconds: string, now: number): boolean {
  if (!/^\d{1,12}$/.test(seconds)) return false;
  return Math.abs(now / 1_000 - Number(seconds)) <= TOLERANCE_SECONDS;
}

/** Standard Webhooks gives the key as base64 behind a prefix; the others sign with the text as it is. */
function keyOf(scheme: HookScheme, secret: string): Uint8Array {
  if (scheme !== "standard") return utf8(secret);
  const text = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : secret;
  return fromBase64(text) ?? new Uint8Array();
}

async function hmac(key: Uint8Array, parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.byteLength;
  }
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", new Uint8Array(key), algorithm, false, [
    "sign",
  ]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytes));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function isSame(given: string, made: string): boolean {
  if (given.length !== made.length) return false;
  let difference = 0;
  for (let at = 0; at < made.length; at += 1)
    difference |= given.charCodeAt(at) ^ made.charCodeAt(at);
  return difference === 0;
}
