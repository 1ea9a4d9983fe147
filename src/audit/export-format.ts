/**
 * The lines of an audit export. PERSISTED CONTRACT `holdfast-export/1`, read by `scripts/verify_log.py` and by whoever
 * audits without this service.
 *
 * In order: `head`, `key` (published keys), `index` (the newest anchor of each log that must be in the file), then per log
 * `log`, its events each followed by the anchors of its seq, and last `end`, which counts, digests and signs all of it.
 * A line has one spelling: canonical JSON, ASCII, one line feed. Whatever is spelled otherwise is refused, so no bit of a
 * file can change without a fault.
 */
import type { Anchor } from "#ports/anchors.ts";
import type { ExportScope, LogBounds } from "#ports/audit-export.ts";
import type { RawEvent } from "#ports/event-log.ts";
import { fromBase64, toBase64 } from "#shared/base64.ts";
import { canonicalJson, isJsonObject, utf8, type Json, type JsonObject } from "#shared/json.ts";
import { parseObject } from "./hash-chain.ts";

export const AUDIT_EXPORT_FORMAT = "holdfast-export/1";
const END_FORMAT = "holdfast-export-end/1";

/** One log in the file, and whose it is. */
export interface LogExtent extends LogBounds {
  readonly tenant: string;
  readonly agent: string | null;
  readonly thread: string | null;
}
export interface ExportTally {
  readonly logs: number;
  readonly events: number;
  readonly anchors: number;
  /** Chained over every line before: `chainDigest`. */
  readonly digest: string;
}
export interface ExportEnd extends ExportTally {
  readonly at: number;
  /** Null where the deployment has no key. */
  readonly keyId: string | null;
  readonly signature: string | null;
}

export type ExportLine =
  | { readonly type: "head"; readonly at: number; readonly scope: ExportScope }
  | { readonly type: "key"; readonly jwk: JsonObject }
  | { readonly type: "index" | "anchor"; readonly anchor: Anchor }
  | { readonly type: "log"; readonly log: LogExtent }
  | { readonly type: "event"; readonly event: RawEvent }
  | { readonly type: "end"; readonly end: ExportEnd };

export const FIRST_DIGEST = "0".repeat(64);

/** Bytes of the digest of one more line: what `sha256` is given. */
export function digestInput(before: string, line: string): Uint8Array {
  return utf8(`${before}${line}\n`);
}

export function endMessage(end: Omit<ExportEnd, "signature">): Uint8Array {
  const { anchors, at, digest, events, keyId, logs } = end;
  return utf8(canonicalJson({ format: END_FORMAT, anchors, at, digest, events, keyId, logs }));
}

export function toLine(line: ExportLine): string {
  switch (line.type) {
    case "head":
      return canonicalJson({
        head: { at: line.at, format: AUDIT_EXPORT_FORMAT, scope: { ...line.scope } },
      });
    case "key":
      return canonicalJson({ key: line.jwk });
    case "index":
      return canonicalJson({ index: { ...line.anchor } });
    case "anchor":
      return canonicalJson({ anchor: { ...line.anchor } });
    case "log": {
      const { base, head } = line.log;
      return canonicalJson({ log: { ...line.log, base: { ...base }, head: { ...head } } });
    }
    case "event":
      return toEventText(line.event);
    case "end":
      return canonicalJson({ end: { ...line.end } });
  }
}

/** Keys in canonical order. A header has no character that needs an escape but its own quotes. */
function toEventText({ seq, header, hash, salt, payload }: RawEvent): string {
  const bytes = (value: Uint8Array | null): string =>
    value === null ? "null" : `"${toBase64(value)}"`;
  return `{"hash":${JSON.stringify(hash)},"header":${JSON.stringify(header)},"payload":${bytes(payload)},"salt":${bytes(salt)},"seq":${seq}}`;
}

const EVENT =
  /^\{"hash":"([0-9a-f]{64})","header":"([ !#-[\]-~]*(?:\\"[ !#-[\]-~]*)*)","payload":(null|"[A-Za-z0-9+/=]*"),"salt":(null|"[A-Za-z0-9+/=]*"),"seq":(0|[1-9]\d{0,15})\}$/;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Null for whatever is not one spelling of one line. */
export function parseLine(text: string): ExportLine | null {
  return text.startsWith('{"hash":') ? parseEvent(text) : parseRecord(text);
}

function parseEvent(text: string): ExportLine | null {
  const match = EVENT.exec(text);
  if (match === null) return null;
  const [, hash = "", escaped = "", storedPayload = "", storedSalt = "", digits = ""] = match;
  const salt = toBytes(storedSalt);
  const payload = toBytes(storedPayload);
  const seq = Number(digits);
  if (salt === undefined || payload === undefined || !Number.isSafeInteger(seq)) return null;
  const header = escaped.replaceAll('\\"', '"');
  return { type: "event", event: { seq, header, hash, salt, payload } };
}

function toBytes(literal: string): Uint8Array | null | undefined {
  return literal === "null" ? null : (fromBase64(literal.slice(1, -1)) ?? undefined);
}

function parseRecord(text: string): ExportLine | null {
  const fields = parseObject(text);
  if (fields === null || !PRINTABLE.test(text) || canonicalJson(fields) !== text) return null;
  const [[type, value] = ["", null], ...more] = Object.entries(fields);
  if (more.length > 0 || !isJsonObject(value)) return null;
  switch (type) {
    case "head":
      return parseHead(value);
    case "key":
      return { type, jwk: value };
    case "index":
    case "anchor": {
      const anchor = parseAnchor(value);
      return anchor === null ? null : { type, anchor };
    }
    case "log":
      return parseExtent(value);
    case "end":
      return parseEnd(value);
    default:
      return null;
  }
}

function parseHead(value: JsonObject): ExportLine | null {
  const scope = value["scope"];
  const isShape =
    hasKeys(value, ["at", "format", "scope"]) &&
    value["format"] === AUDIT_EXPORT_FORMAT &&
    isWhole(value["at"]) &&
    isJsonObject(scope) &&
    hasKeys(scope, ["agent", "tenant", "thread"]) &&
    isAddress(scope);
  // Each field was just seen to be of its type.
  return isShape ? ({ type: "head", at: value["at"], scope } as unknown as ExportLine) : null;
}

export function parseAnchor(value: Json): Anchor | null {
  const isShape =
    isJsonObject(value) &&
    hasKeys(value, [
      "agent",
      "at",
      "hash",
      "keyId",
      "logId",
      "seq",
      "signature",
      "tenant",
      "thread",
    ]) &&
    isAddress(value) &&
    ["hash", "keyId", "logId", "signature"].every((name) => typeof value[name] === "string") &&
    isWhole(value["at"]) &&
    isWhole(value["seq"]);
  return isShape ? (value as unknown as Anchor) : null;
}

function parseExtent(value: JsonObject): ExportLine | null {
  const isShape =
    hasKeys(value, ["agent", "base", "head", "logId", "tenant", "thread"]) &&
    isAddress(value) &&
    typeof value["logId"] === "string" &&
    isHead(value["base"]) &&
    isHead(value["head"]);
  return isShape ? ({ type: "log", log: value } as unknown as ExportLine) : null;
}

function parseEnd(value: JsonObject): ExportLine | null {
  const { keyId, signature } = value;
  const isShape =
    hasKeys(value, ["anchors", "at", "digest", "events", "keyId", "logs", "signature"]) &&
    ["anchors", "at", "events", "logs"].every((name) => isWhole(value[name])) &&
    typeof value["digest"] === "string" &&
    (keyId === null) === (signature === null) &&
    (keyId === null || typeof keyId === "string") &&
    (signature === null || typeof signature === "string");
  return isShape ? ({ type: "end", end: value } as unknown as ExportLine) : null;
}

function isAddress(value: JsonObject): boolean {
  const isName = (name: string): boolean => value[name] === null || typeof value[name] === "string";
  return typeof value["tenant"] === "string" && isName("agent") && isName("thread");
}

function isHead(value: Json | undefined): boolean {
  return (
    isJsonObject(value) &&
    hasKeys(value, ["hash", "seq"]) &&
    isWhole(value["seq"]) &&
    typeof value["hash"] === "string"
  );
}

function isWhole(value: Json | undefined): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function hasKeys(value: JsonObject, names: readonly string[]): boolean {
  const own = Object.keys(value);
  return own.length === names.length && names.every((name) => Object.hasOwn(value, name));
}
