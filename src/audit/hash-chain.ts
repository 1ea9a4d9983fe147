/**
 * Verification of stored events, pure and without the log's own code: it hashes what is given and re-serialises
 * nothing (rules L3, L4). `scripts/verify_log.py` is the same check in another language (rule L13); a change here is a
 * change there.
 *
 * The seq it names is the one expected at the first bad position: of a deleted, doubled or moved event, its own place.
 */
import { isJsonObject, utf8, type Json, type JsonObject } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import type { LogHead, RawEvent } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";

export type ChainFault =
  /** Another event stands where this one was expected. */
  | "seq_unexpected"
  /** The header text does not fit its hash. */
  | "hash_mismatch"
  /** The header is not JSON of the contract's shape. */
  | "header_invalid"
  /** The header belongs to another place or another log. */
  | "seq_mismatch"
  | "log_mismatch"
  /** The event before is not the one that this event was built on. */
  | "prev_mismatch"
  /** One of salt and payload is gone, the other is not. */
  | "payload_incomplete"
  | "payload_mismatch"
  /** The chain is sound and ends elsewhere than promised: events were cut off or added. */
  | "head_mismatch";

export interface ChainFailure {
  readonly seq: number;
  readonly reason: ChainFault;
}
export interface ChainReport {
  readonly logId: string | null;
  readonly head: LogHead;
  readonly events: number;
  readonly erased: number;
}
export interface ChainBounds {
  /** Last event before the given ones; default the beginning of the log. */
  readonly base?: LogHead;
  /** Where the chain must end, e.g. an anchored head. Without it a cut tail cannot show. */
  readonly head?: LogHead;
  readonly logId?: string;
}

export const GENESIS_HASH = "0".repeat(64);

export function verifyChain(
  events: Iterable<RawEvent>,
  hasher: Hasher,
  bounds: ChainBounds = {},
): Result<ChainReport, ChainFailure> {
  let last: LogHead = bounds.base ?? { seq: 0, hash: GENESIS_HASH };
  let logId = bounds.logId ?? null;
  let count = 0;
  let erased = 0;
  for (const event of events) {
    const seq = last.seq + 1;
    if (event.seq !== seq) return err({ seq, reason: "seq_unexpected" });
    if (!event.header.isWellFormed() || hasher.sha256(utf8(event.header)) !== event.hash)
      return err({ seq, reason: "hash_mismatch" });
    const header = parseHeader(event.header);
    const reason =
      header === null
        ? "header_invalid"
        : (findFault(header, event, { last, logId }) ?? findPayloadFault(header, event, hasher));
    if (header === null || reason !== null) return err({ seq, reason: reason ?? "header_invalid" });
    logId = header.logId;
    last = { seq, hash: event.hash };
    count += 1;
    if (event.salt === null) erased += 1;
  }
  const { head } = bounds;
  if (head !== undefined && head.seq > last.seq)
    return err({ seq: last.seq + 1, reason: "head_mismatch" });
  if (head !== undefined && (head.seq !== last.seq || head.hash !== last.hash))
    return err({ seq: last.seq, reason: "head_mismatch" });
  return ok({ logId, head: last, events: count, erased });
}

interface VerifiableHeader {
  readonly logId: string;
  readonly seq: number;
  readonly prev: string;
  readonly payload: { readonly digest: string; readonly bytes: number };
}

function parseHeader(text: string): VerifiableHeader | null {
  const header = parseObject(text);
  const payload = header?.["payload"];
  if (header === null || !isJsonObject(payload)) return null;
  const { logId, seq, prev } = header;
  const { digest, bytes } = payload;
  if (typeof logId !== "string" || typeof seq !== "number" || typeof prev !== "string") return null;
  if (typeof digest !== "string" || typeof bytes !== "number") return null;
  return { logId, seq, prev, payload: { digest, bytes } };
}

/** Null for anything but one JSON object. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function findFault(
  header: VerifiableHeader,
  event: RawEvent,
  chain: { readonly last: LogHead; readonly logId: string | null },
): ChainFault | null {
  if (header.seq !== event.seq) return "seq_mismatch";
  if (chain.logId !== null && header.logId !== chain.logId) return "log_mismatch";
  return header.prev === chain.last.hash ? null : "prev_mismatch";
}

/** An erased payload is no fault: the header still says what it was the digest of. */
function findPayloadFault(
  header: VerifiableHeader,
  event: RawEvent,
  hasher: Hasher,
): ChainFault | null {
  const { salt, payload } = event;
  if (salt === null && payload === null) return null;
  if (salt === null || payload === null) return "payload_incomplete";
  const fits =
    payload.byteLength === header.payload.bytes &&
    hasher.sha256(salt, payload) === header.payload.digest;
  return fits ? null : "payload_mismatch";
}
