/**
 * The exported form of a log: JSON Lines, the first a manifest, then one line per event with exactly what is stored.
 * PERSISTED CONTRACT `holdfast-log/1`, read by `scripts/verify_log.py` and by whoever audits without this service.
 *
 * Salt and payload are standard base64 with padding, or null once erased.
 */
import { fromBase64, toBase64 } from "#shared/base64.ts";
import { canonicalJson, type Json, type JsonObject } from "#shared/json.ts";
import { err, type Result } from "#shared/result.ts";
import type { EventLog, LogHead, RawEvent } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import { GENESIS_HASH, verifyChain, type ChainFault, type ChainReport } from "./hash-chain.ts";
import { parseObject } from "./verifiable-header.ts";

export const EXPORT_FORMAT = "holdfast-log/1";
const PAGE = 100;

export interface ExportManifest {
  readonly logId: string;
  /** Last event before the export: seq 0 for a whole log. */
  readonly base: LogHead;
  readonly head: LogHead;
}
export interface ExportFailure {
  readonly seq: number;
  /** `line_invalid`: the line of that event is not of the export's shape. */
  readonly reason: ChainFault | "manifest_invalid" | "line_invalid";
}

/** Lines without their newline, read page by page, up to the head as it is when the first line is taken. */
export function* exportLog(
  log: Pick<EventLog<unknown>, "logId" | "head" | "raw">,
): Generator<string> {
  const head = log.head();
  yield toManifestLine({ logId: log.logId, base: { seq: 0, hash: GENESIS_HASH }, head });
  for (let from = 1; from <= head.seq; from += PAGE) {
    for (const event of log.raw({ from, to: head.seq, limit: PAGE })) yield toEventLine(event);
  }
}

export function toManifestLine(manifest: ExportManifest): string {
  const { base, head, logId } = manifest;
  return canonicalJson({ format: EXPORT_FORMAT, logId, base: { ...base }, head: { ...head } });
}

export function toEventLine(event: RawEvent): string {
  const { seq, header, hash } = event;
  return canonicalJson({
    seq,
    header,
    hash,
    salt: event.salt === null ? null : toBase64(event.salt),
    payload: event.payload === null ? null : toBase64(event.payload),
  });
}

/** True for the first line of an export of this format, which holds one log and no signed heads. */
export function isLogExport(line: string): boolean {
  return parseObject(line)?.["format"] === EXPORT_FORMAT;
}

/** Checks a whole export from its text alone. The bytes are those of the file: no blank lines but the last. */
export function verifyExport(text: string, hasher: Hasher): Result<ChainReport, ExportFailure> {
  const [first = "", ...lines] = text.replace(/\n$/, "").split("\n");
  const manifest = parseManifest(first);
  if (manifest === null) return err({ seq: 0, reason: "manifest_invalid" });
  let brokenAt: number | null = null;
  const events = function* (): Generator<RawEvent> {
    for (const [index, line] of lines.entries()) {
      const event = parseEventLine(line);
      if (event === null) {
        brokenAt = manifest.base.seq + index + 1;
        return;
      }
      yield event;
    }
  };
  const report = verifyChain(events(), hasher, manifest);
  // A fault before the broken line would have ended the walk; what the report says of the end is beside the point.
  return brokenAt === null ? report : err({ seq: brokenAt, reason: "line_invalid" });
}

function parseManifest(line: string): ExportManifest | null {
  const manifest = parseObject(line);
  const base = toHead(manifest?.["base"]);
  const head = toHead(manifest?.["head"]);
  const logId = manifest?.["logId"];
  if (
    manifest?.["format"] !== EXPORT_FORMAT ||
    typeof logId !== "string" ||
    base === null ||
    head === null
  )
    return null;
  return { logId, base, head };
}

function toHead(value: Json | undefined): LogHead | null {
  const { seq, hash } = (value ?? {}) as JsonObject;
  return typeof seq === "number" && Number.isSafeInteger(seq) && typeof hash === "string"
    ? { seq, hash }
    : null;
}

function parseEventLine(line: string): RawEvent | null {
  const fields = parseObject(line);
  if (fields === null) return null;
  const { seq, header, hash } = fields;
  const salt = fromText(fields["salt"]);
  const payload = fromText(fields["payload"]);
  if (typeof seq !== "number" || typeof header !== "string" || typeof hash !== "string")
    return null;
  return salt === undefined || payload === undefined ? null : { seq, header, hash, salt, payload };
}

/** Undefined for what is neither null nor strict base64. */
function fromText(value: Json | undefined): Uint8Array | null | undefined {
  if (value === null) return null;
  return typeof value === "string" ? (fromBase64(value) ?? undefined) : undefined;
}
