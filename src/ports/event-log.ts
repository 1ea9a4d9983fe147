/**
 * EventLog: one append-only, hash-linked order of events, generic over its catalogue.
 *
 * Nothing here knows what a thread is: threads, memory scopes and ledgers keep their truth in logs of this one format.
 * Contract (suite: test/contracts/event-log.ts), rules L of docs/SPEC.md:
 * L1 one order, gapless `seq` from 1. L2 head read, hash, append, projections and the caller's `within` are one
 * synchronous transaction: all or nothing. L3 `hash` is SHA-256 of the exact stored header bytes, which hold `prev`.
 * L4 the payload digest covers salt and stored bytes; salt and payload may become null together, nothing else changes.
 * L5 an append under an older epoch is refused (`stale_epoch`). L6 a log with unknown events is readable, not writable.
 */
import type { Json } from "#shared/json.ts";

/** PERSISTED CONTRACT. Integers, strings, null, and one array of strings; unused fields are null, never absent. */
export interface EventHeader {
  readonly logId: string;
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly version: number;
  /** Epoch ms. Informative: order comes from `seq`. */
  readonly at: number;
  /** Fencing token of the writer. */
  readonly epoch: number;

  readonly tenant: string | null;
  readonly agent: string | null;
  /** SHA-256 of the canonical manifest the run is pinned to. */
  readonly definition: string | null;
  readonly thread: string | null;
  readonly run: string | null;
  readonly step: number | null;
  readonly call: string | null;
  readonly attempt: number | null;
  /** Id of the intent event that this event answers or follows from. */
  readonly cause: string | null;

  readonly traceId: string | null;
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
  readonly rootRun: string | null;
  readonly parentRun: string | null;
  readonly depth: number | null;
  readonly deadline: number | null;

  readonly actor: string | null;
  readonly subject: string | null;
  /** Taint: sorted, unique labels of where the content came from; null when nothing was tracked. */
  readonly origin: readonly string[] | null;

  readonly costMicros: number | null;
  readonly costKind: "normal" | "recovery" | "estimated" | null;
  readonly priceVersion: string | null;
  readonly leaseId: string | null;

  readonly payload: PayloadDescriptor;
  /** Hash of the event before, or 64 zeros for the first. */
  readonly prev: string;
}

/** PERSISTED CONTRACT. */
export interface PayloadDescriptor {
  /** SHA-256 over salt and stored bytes, lower-case hex. */
  readonly digest: string;
  /** Number of stored bytes. */
  readonly bytes: number;
  /** Null when the bytes lie in the event's row, else the content address `blob:<digest>`. */
  readonly ref: string | null;
  /** How stored bytes become the payload: `json` (UTF-8), or the codec's own label. */
  readonly encoding: string;
  readonly keyId: string | null;
}

/** What a caller sets of the header; the log fills in the rest. */
export type EventScope = {
  readonly [
    K in keyof Omit<
      EventHeader,
      "logId" | "seq" | "id" | "type" | "version" | "at" | "epoch" | "payload" | "prev"
    >
  ]?: EventHeader[K];
};

/** `M` maps event type to payload type; payloads are plain JSON. A thread's are in #kernel/events.ts. */
export type Draft<M> = {
  readonly [T in keyof M & string]: {
    readonly type: T;
    readonly payload: M[T];
    readonly scope?: EventScope;
    /** Set when the id had to exist before the append (an intent's id is its idempotency key). */
    readonly id?: string;
  };
}[keyof M & string];

export type StoredEvent<M> = {
  readonly [T in keyof M & string]: {
    readonly type: T;
    readonly header: EventHeader;
    readonly hash: string;
    /** Null once erased. Current version: upcast on read. */
    readonly payload: M[T] | null;
  };
}[keyof M & string];

/** The closed set of events a log may hold, with how older versions become current ones. */
export interface Catalogue<M> {
  readonly name: string;
  /** Current version of each type; a type or version that is not here opens the log read-only. */
  readonly versions: { readonly [T in keyof M & string]: number };
  /** Brings a stored payload to the current version. Called only for `1 <= version < current`. */
  upcast(type: keyof M & string, version: number, payload: Json): Json;
}

/** Folded state of a log. Snapshots are discarded when `version` differs, so raise it with every change of `evolve`. */
export interface Fold<M, S> {
  readonly id: string;
  readonly version: number;
  /** Oldest version whose dump `restore` still takes: what a pruned log was folded into outlives versions. Default `version`. */
  readonly restorable?: number;
  initial(): S;
  evolve(state: S, event: StoredEvent<M>): S;
  /** To and from plain JSON. */
  dump(state: S): Json;
  restore(dumped: Json): S;
}

export interface LogHead {
  readonly seq: number;
  readonly hash: string;
}
export type ReadOnlyReason = "log_newer_than_code" | "migration_failed" | "log_corrupt";
export type LogMode =
  | { readonly writable: true }
  | { readonly writable: false; readonly reason: ReadOnlyReason; readonly message: string };

export interface AppendOptions<M> {
  readonly at: number;
  /** Refuses with AppError `conflict` unless the head is at this `seq`. */
  readonly expectedSeq?: number;
  /** Runs in the same transaction after the events are in place. Throwing rolls all of it back. */
  readonly within?: (events: readonly StoredEvent<M>[]) => void;
}
export interface ReadOptions {
  /** First `seq`, inclusive, default 1. */
  readonly from?: number;
  /** Last `seq`, inclusive, default the head. */
  readonly to?: number;
  /** Most events, default 500. */
  readonly limit?: number;
  readonly reverse?: boolean;
}

/** A projection is written in the transaction of the append and rebuilt from the log when its version changes. */
export interface Projection<M> {
  readonly name: string;
  readonly version: number;
  /** Forgets what came from events above `base`. What came from pruned events stays: nothing could tell it again. */
  reset(base: number): void;
  apply(event: StoredEvent<M>): void;
}

export interface OutboxCursor {
  readonly name: string;
  /** Last delivered seq. */
  readonly seq: number;
  /** Pruning never passes a required cursor. */
  readonly required: boolean;
}
/** At least once, in order. Consumers deduplicate by (log id, seq). */
export interface OutboxConsumer<M> {
  readonly name: string;
  readonly required: boolean;
  /** Events that interest it; the cursor passes over others without a call. Default all. */
  readonly types?: readonly (keyof M & string)[];
  deliver(events: readonly StoredEvent<M>[]): Promise<void>;
}

export interface ErasureReceipt {
  readonly erased: number;
  readonly alreadyErased: number;
}

export interface PruneReceipt {
  /** Events deleted by this call. */
  readonly pruned: number;
  readonly base: LogHead;
}

export interface EventLog<M> {
  readonly logId: string;
  readonly mode: LogMode;
  /** This writer's fencing epoch; persisted with its first append, so that a wake that only reads writes nothing. */
  readonly epoch: number;
  head(): LogHead;
  /** The last pruned event; seq 0 and 64 zeros where the log is whole. The chain verifies from here. */
  base(): LogHead;
  /**
   * Appends in order and returns what was stored. Throws AppError `stale_epoch`, `conflict`, or the read-only reason.
   * Lone surrogates are replaced before storing (rule L7).
   */
  append(drafts: readonly Draft<M>[], options: AppendOptions<M>): readonly StoredEvent<M>[];
  read(options?: ReadOptions): readonly StoredEvent<M>[];
  get(seq: number): StoredEvent<M> | null;
  /** Folds from the newest usable snapshot. */
  fold<S>(fold: Fold<M, S>): { readonly state: S; readonly seq: number };
  saveSnapshot<S>(fold: Fold<M, S>, state: S, seq: number): void;
  /** Sets salt and payload of these events to null and drops their chunks. The chain still verifies. */
  erase(seqs: readonly number[]): ErasureReceipt;
  cursors(): readonly OutboxCursor[];
  /** The last seq that every required cursor has passed: nothing above it may be pruned. The head when none is required. */
  prunable(): number;
  /**
   * Deletes the events up to `upTo` with their payloads, in one transaction with `within`. The fold's state at exactly that
   * place stays for good, so that folding goes on from it. Throws AppError `conflict` at the head or beyond a required
   * cursor. Which events something else still names is the caller's to know (L14).
   */
  prune<S>(upTo: number, fold: Fold<M, S>, within?: () => void): PruneReceipt;
  /** The state that pruned events were folded into; null of a whole log. */
  baseState<S>(fold: Fold<M, S>): S | null;
  /** Rewrites the state that pruned events were folded into; a whole log has none. For what must be forgotten of it. */
  amendBase<S>(fold: Fold<M, S>, amend: (state: S) => S): void;
  /** Delivers up to `limit` events to each consumer; true when some consumer still lags. */
  drain(consumers: readonly OutboxConsumer<M>[], limit?: number): Promise<boolean>;
  /** Exactly what is stored, for export and verification: nothing is re-serialised. */
  raw(options?: ReadOptions): readonly RawEvent[];
}

/** One stored row, byte for byte. */
export interface RawEvent {
  readonly seq: number;
  /** The exact header text that was hashed. */
  readonly header: string;
  readonly hash: string;
  readonly salt: Uint8Array | null;
  /** Stored bytes, chunks joined; null once erased. */
  readonly payload: Uint8Array | null;
}

/** Payload bytes at rest. Identity today; encryption per tenant has the same shape. */
export interface PayloadCodec {
  readonly encoding: string;
  readonly keyId: string | null;
  encode(plain: Uint8Array): Uint8Array;
  /** Chooses by the stored label, so that a log may hold several encodings. */
  decode(stored: Uint8Array, descriptor: PayloadDescriptor): Uint8Array;
}
