/**
 * Verification of stored events, pure and without the log's own code: it hashes what is given and re-serialises
 * nothing (rules L3, L4). `scripts/verify_log.py` is the same check in another language (rule L13); a change here is a
 * change there.
 *
 * The seq it names is the one expected at the first bad position: of a deleted, doubled or moved event, its own place.
 */
import { utf8 } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import type { LogHead, RawEvent } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import { parseHeader, type VerifiableHeader } from "./verifiable-header.ts";

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
  const walk = new ChainWalk(hasher, bounds);
  for (const event of events) {
    const seq = walk.last.seq + 1;
    const reason = walk.take(event);
    if (reason !== null) return err({ seq, reason });
  }
  const { last, logId, events: count, erased } = walk;
  const fault = bounds.head === undefined ? null : findHeadFault(last, bounds.head);
  return fault === null ? ok({ logId, head: last, events: count, erased }) : err(fault);
}

/** The chain ends at `last`; null when that is where it must end. */
export function findHeadFault(last: LogHead, head: LogHead): ChainFailure | null {
  if (head.seq > last.seq) return { seq: last.seq + 1, reason: "head_mismatch" };
  const isHead = head.seq === last.seq && head.hash === last.hash;
  return isHead ? null : { seq: last.seq, reason: "head_mismatch" };
}

/** One log, event by event, in constant memory. After a fault it stands where it was. */
export class ChainWalk {
  readonly #hasher: Hasher;
  #last: LogHead;
  #logId: string | null;
  #events = 0;
  #erased = 0;

  constructor(hasher: Hasher, bounds: Pick<ChainBounds, "base" | "logId"> = {}) {
    this.#hasher = hasher;
    this.#last = bounds.base ?? { seq: 0, hash: GENESIS_HASH };
    this.#logId = bounds.logId ?? null;
  }

  get last(): LogHead {
    return this.#last;
  }
  get logId(): string | null {
    return this.#logId;
  }
  get events(): number {
    return this.#events;
  }
  get erased(): number {
    return this.#erased;
  }

  /** Null when the event stands where it belongs and is what was written; its owner is checked where one is given. */
  take(event: RawEvent, { owner, headerBytes }: Known = {}): ChainFault | null {
    const seq = this.#last.seq + 1;
    if (event.seq !== seq) return "seq_unexpected";
    if (!event.header.isWellFormed()) return "hash_mismatch";
    const hash = this.#hasher.sha256(headerBytes ?? utf8(event.header));
    if (hash !== event.hash) return "hash_mismatch";
    const header = parseHeader(event.header);
    if (header === null) return "header_invalid";
    const chain = { last: this.#last, logId: this.#logId };
    const fault =
      findFault(header, event, chain) ??
      (owner === undefined ? null : findOwnerFault(header, owner)) ??
      findPayloadFault(header, event, this.#hasher);
    if (fault !== null) return fault;
    this.#logId = header.logId;
    this.#last = { seq, hash: event.hash };
    this.#events += 1;
    if (event.salt === null) this.#erased += 1;
    return null;
  }
}

interface Known {
  readonly owner?: LogOwner;
  /** The bytes of the header's text, where the caller has them. */
  readonly headerBytes?: Uint8Array;
}

/** Whose log it is, as each header says. */
export interface LogOwner {
  readonly tenant: string;
  readonly agent: string | null;
  readonly thread: string | null;
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

function findOwnerFault(header: VerifiableHeader, owner: LogOwner): ChainFault | null {
  const { tenant, agent, thread } = header;
  // A log that is no thread's, such as a ledger, may speak of threads in its headers; its log id says whose it is.
  const isOwn = owner.thread === null || (agent === owner.agent && thread === owner.thread);
  return isOwn && tenant === owner.tenant ? null : "log_mismatch";
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
    payload.byteLength === header.bytes && hasher.sha256(salt, payload) === header.digest;
  return fits ? null : "payload_mismatch";
}
