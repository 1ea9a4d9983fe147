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
import type { Hasher } from "#ports/hasher.ts";
import { canonicalJson, isJsonObject, utf8, type Json, type JsonObject } from "#shared/json.ts";
import { isEventLine, toEventText, type EventLine, type EventLineReader } from "./event-line.ts";
import { parseObject } from "./verifiable-header.ts";

export const AUDIT_EXPORT_FORMAT = "holdfast-export/1";
const END_FORMAT = "holdfast-export-end/1";
const LINE_FEED = 10;
const ENCODER = new TextEncoder();

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

type RecordLine = Exclude<ExportLine, { readonly type: "event" }>;
export type ReadLine = RecordLine | { readonly type: "event"; readonly event: EventLine };

export const FIRST_DIGEST = "0".repeat(64);

/** Bytes of the digest of one more line: what `sha256` is given. */
export function digestInput(before: string, line: string): Uint8Array {
  return utf8(`${before}${line}\n`);
}

/** The digest over all lines so far, in memory that each line takes over. */
export class LineDigest {
  readonly #hasher: Hasher;
  #value = FIRST_DIGEST;
  #input = new Uint8Array(16_384);

  constructor(hasher: Hasher) {
    this.#hasher = hasher;
  }

  get value(): string {
    return this.#value;
  }

  /** As `digestInput` says, of a line that is bytes already. */
  take(line: Uint8Array): void {
    const length = FIRST_DIGEST.length + line.byteLength + 1;
    if (this.#input.byteLength < length) this.#input = new Uint8Array(2 * length);
    const input = this.#input;
    ENCODER.encodeInto(this.#value, input);
    input.set(line, FIRST_DIGEST.length);
    input[length - 1] = LINE_FEED;
    this.#value = this.#hasher.sha256(input.subarray(0, length));
  }
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

const PRINTABLE = /^[\x20-\x7e]*$/;
/** One byte is one character: what is not ASCII is refused below, and nothing is replaced. */
const LATIN = new TextDecoder("latin1");

/** Null for whatever is not one spelling of one line. */
export function parseLine(line: Uint8Array, events: EventLineReader): ReadLine | null {
  if (!isEventLine(line)) return parseRecord(LATIN.decode(line));
  const event = events.read(line);
  return event === null ? null : { type: "event", event };
}

function parseRecord(text: string): RecordLine | null {
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

function parseHead(value: JsonObject): RecordLine | null {
  const scope = value["scope"];
  const isShape =
    hasKeys(value, ["at", "format", "scope"]) &&
    value["format"] === AUDIT_EXPORT_FORMAT &&
    isWhole(value["at"]) &&
    isJsonObject(scope) &&
    hasKeys(scope, ["agent", "tenant", "thread"]) &&
    isAddress(scope);
  // Each field was just seen to be of its type.
  return isShape ? ({ type: "head", at: value["at"], scope } as unknown as RecordLine) : null;
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

function parseExtent(value: JsonObject): RecordLine | null {
  const isShape =
    hasKeys(value, ["agent", "base", "head", "logId", "tenant", "thread"]) &&
    isAddress(value) &&
    typeof value["logId"] === "string" &&
    isHead(value["base"]) &&
    isHead(value["head"]);
  return isShape ? ({ type: "log", log: value } as unknown as RecordLine) : null;
}

function parseEnd(value: JsonObject): RecordLine | null {
  const { keyId, signature } = value;
  const isShape =
    hasKeys(value, ["anchors", "at", "digest", "events", "keyId", "logs", "signature"]) &&
    ["anchors", "at", "events", "logs"].every((name) => isWhole(value[name])) &&
    typeof value["digest"] === "string" &&
    (keyId === null) === (signature === null) &&
    (keyId === null || typeof keyId === "string") &&
    (signature === null || typeof signature === "string");
  return isShape ? ({ type: "end", end: value } as unknown as RecordLine) : null;
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
