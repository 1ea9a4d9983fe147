/**
 * ChainedEventLog: the rules L of docs/SPEC.md, once, over any LogStore. It owns order, chain, fencing, read-only modes
 * and erasure; payloads, snapshots, projections, outbox and the writer's claim have a file each.
 *
 * Invariants: an append is one transaction of one row per event (L1, L2). The text that is stored is the text that was
 * hashed (L3). Opening reads and writes nothing but a projection whose version changed (L12): epoch, log id and
 * vocabulary are persisted by the first append.
 *
 * The head is remembered from append to append, and not believed: the store places a row behind exactly the row that is
 * named, or not at all. A head that still stands also says that no other writer has taken over, because a claim is only
 * ever stored together with an event (L5). What was rolled back or overtaken is read again.
 */
import { AppError } from "#shared/errors.ts";
import { invariant } from "#shared/exhaustive.ts";
import { utf8 } from "#shared/json.ts";
import type {
  AppendOptions,
  Draft,
  ErasureReceipt,
  EventHeader,
  EventLog,
  EventScope,
  Fold,
  LogHead,
  LogMode,
  OutboxConsumer,
  OutboxCursor,
  PruneReceipt,
  RawEvent,
  ReadOnlyReason,
  ReadOptions,
  StoredEvent,
} from "#ports/event-log.ts";
import {
  buildHeader,
  requireLabel,
  requireScope,
  requireWhole,
  toHeader,
  toHeaderText,
  toHex,
} from "./event-header.ts";
import { GENESIS, readBase } from "./log-base.ts";
import type { ChainedLogOptions } from "./log-options.ts";
import { LogOutbox } from "./log-outbox.ts";
import { LogPruning } from "./log-pruning.ts";
import { LogProjections } from "./log-projections.ts";
import type { EventRow, LogStore, StoredHead } from "./log-store.ts";
import { PayloadStore } from "./payload-store.ts";
import { SnapshotShelf } from "./snapshot-shelf.ts";
import { findUnknown, readVocabulary, WriterClaim, type VersionedType } from "./writer-claim.ts";

type Head = Pick<StoredHead, "seq" | "hash">;

const NOTHING = (): void => undefined;
const READ_LIMIT = 500;
/** Events decoded at a time while folding: bounds memory at 25 MiB whatever the payloads are. */
const SLICE = 100;

export class ChainedEventLog<M> implements EventLog<M> {
  readonly logId: string;
  readonly epoch: number;
  readonly #store: LogStore;
  readonly #options: ChainedLogOptions<M>;
  readonly #defaults: EventScope;
  readonly #versions: ReadonlyMap<string, number>;
  readonly #payloads: PayloadStore;
  readonly #snapshots: SnapshotShelf;
  readonly #outbox: LogOutbox<M>;
  readonly #pruning: LogPruning<M>;
  readonly #projections: LogProjections<M>;
  readonly #claim: WriterClaim;
  #mode: LogMode = { writable: true };
  #remembered: Head | null = null;

  constructor(store: LogStore, options: ChainedLogOptions<M>) {
    this.#store = store;
    this.#options = options;
    this.#defaults = requireScope(options.defaults ?? {});
    this.#versions = new Map(Object.entries<number>(options.catalogue.versions));
    this.#payloads = new PayloadStore(store.blobs, options);
    this.#snapshots = new SnapshotShelf(store, options.hasher);
    this.#projections = new LogProjections(store, options.projections ?? []);
    this.#outbox = new LogOutbox(store, {
      headSeq: () => this.head().seq,
      read: (from, limit) => this.read({ from, limit }),
    });
    this.#pruning = new LogPruning(store, {
      snapshots: this.#snapshots,
      prunable: () => this.prunable(),
      foldTo: (fold, upTo) => this.#foldTo(fold, upTo),
      dropPayloads: (from, to) =>
        this.#forEachRow(from, to, (row) => this.#payloads.drop(toHeader(row))),
    });
    const { claim } = store.head();
    this.#claim = new WriterClaim(store, claim, toHex(options.ids.bytes(8)));
    this.epoch = this.#claim.epoch;
    this.logId = store.meta("log_id") ?? options.logId ?? options.ids.next("log");
    requireLabel("logId", this.logId);
    const { readOnly } = options;
    if (readOnly !== undefined) this.#close(readOnly.reason, readOnly.message);
    this.#inspect();
    this.#refreshProjections();
  }

  get mode(): LogMode {
    return this.#mode;
  }

  head(): LogHead {
    const { seq, hash } = this.#store.head();
    return { seq, hash: hash ?? GENESIS.hash };
  }

  base(): LogHead {
    return readBase(this.#store);
  }

  append(drafts: readonly Draft<M>[], options: AppendOptions<M>): readonly StoredEvent<M>[] {
    this.#requireWritable();
    requireWhole("at", options.at);
    if (drafts.length === 0) return [];
    return this.#store.transaction(() => {
      const types = drafts.map((draft) => this.#versioned(draft.type));
      const known = this.#claim.covers(types) ? this.#remembered : null;
      const events =
        (known !== null && isExpected(known.seq, options.expectedSeq)
          ? this.#place(drafts, known, options.at)
          : null) ?? this.#place(drafts, this.#claimHead(types, options.expectedSeq), options.at);
      invariant(events !== null, "a head that was read in this transaction stands");
      this.#projections.apply(events);
      options.within?.(events);
      return events;
    });
  }

  read(options: ReadOptions = {}): readonly StoredEvent<M>[] {
    return this.#rows(options).map((row) => this.#decode(row));
  }

  get(seq: number): StoredEvent<M> | null {
    return this.read({ from: seq, to: seq, limit: 1 })[0] ?? null;
  }

  fold<S>(fold: Fold<M, S>): { readonly state: S; readonly seq: number } {
    const head = this.#store.head().seq;
    return { state: this.#foldTo(fold, head), seq: head };
  }

  saveSnapshot<S>(fold: Fold<M, S>, state: S, seq: number): void {
    this.#requireWritable();
    invariant(seq <= this.#store.head().seq, "a snapshot is of events that are stored");
    this.#snapshots.save(fold, state, seq);
  }

  erase(seqs: readonly number[]): ErasureReceipt {
    this.#requireWritable();
    return this.#store.transaction(() => {
      let erased = 0;
      for (const seq of new Set(seqs)) {
        const [row] = this.#rows({ from: seq, to: seq });
        if (row === undefined)
          throw new AppError("not_found", `there is no event ${seq}`, { detail: { seq } });
        if (row.salt === null) continue;
        this.#payloads.drop(toHeader(row));
        this.#store.eraseRow(seq);
        erased += 1;
      }
      if (erased > 0) this.#snapshots.clear();
      this.#outbox.forget();
      return { erased, alreadyErased: new Set(seqs).size - erased };
    });
  }

  cursors(): readonly OutboxCursor[] {
    return this.#store.cursors();
  }

  prunable(): number {
    return this.#outbox.prunable();
  }

  prune<S>(upTo: number, fold: Fold<M, S>, within?: () => void): PruneReceipt {
    this.#requireWritable();
    this.#outbox.forget();
    return this.#pruning.prune(upTo, fold, within ?? NOTHING);
  }

  baseState<S>(fold: Fold<M, S>): S | null {
    const { seq } = this.base();
    return seq === 0 ? null : this.#foldTo(fold, seq);
  }

  amendBase<S>(fold: Fold<M, S>, amend: (state: S) => S): void {
    this.#requireWritable();
    const { seq } = this.base();
    if (seq > 0) this.#snapshots.save(fold, amend(this.#foldTo(fold, seq)), seq);
  }

  async drain(
    consumers: readonly OutboxConsumer<M>[],
    limit: number = READ_LIMIT,
  ): Promise<boolean> {
    this.#requireWritable();
    return this.#outbox.drain(consumers, limit);
  }

  raw(options: ReadOptions = {}): readonly RawEvent[] {
    return this.#rows(options).map((row) => ({
      seq: row.seq,
      header: row.header,
      hash: row.hash,
      salt: row.salt,
      payload: this.#payloads.stored(row, toHeader(row)),
    }));
  }

  /** The stored head, held by this writer. */
  #claimHead(types: readonly VersionedType[], expectedSeq: number | undefined): Head {
    // Until this append stands: what it writes of the claim may be rolled back while the old head stays.
    this.#remembered = null;
    const { claim, seq, hash } = this.#store.head();
    this.#claim.hold(claim, types, (seen) => this.#takeOver(seen));
    if (!isExpected(seq, expectedSeq)) {
      throw new AppError("conflict", "the log has moved on", {
        retryable: true,
        detail: { expected: expectedSeq ?? null, actual: seq },
      });
    }
    return { seq, hash };
  }

  /** The events behind `head`; null, and nothing is written, where the log has another head. */
  #place(drafts: readonly Draft<M>[], head: Head, at: number): readonly StoredEvent<M>[] | null {
    let previous = head;
    const events: StoredEvent<M>[] = [];
    for (const draft of drafts) {
      const event = this.#insert(draft, previous, at);
      if (event === null) return null;
      events.push(event);
      previous = { seq: event.header.seq, hash: event.hash };
    }
    this.#remembered = previous;
    return events;
  }

  #insert(draft: Draft<M>, previous: Head, at: number): StoredEvent<M> | null {
    const seq = previous.seq + 1;
    const { hasher, ids } = this.#options;
    const payload = this.#payloads.seal(draft.payload);
    const id = draft.id ?? ids.next("evt");
    requireLabel("id", id);
    const header = buildHeader(
      {
        logId: this.logId,
        seq,
        id,
        type: draft.type,
        version: this.#versions.get(draft.type) ?? 0,
        at,
        epoch: this.epoch,
        payload: payload.descriptor,
        prev: previous.hash ?? GENESIS.hash,
      },
      draft.scope ?? {},
      this.#defaults,
    );
    const text = toHeaderText(header);
    const hash = hasher.sha256(utf8(text));
    const row = { seq, header: text, hash, salt: payload.salt, payload: payload.inline };
    if (!this.#store.insert(row, previous)) {
      this.#payloads.drop(header);
      return null;
    }
    return { type: draft.type, header, hash, payload: payload.value } as StoredEvent<M>;
  }

  #rows(options: ReadOptions): readonly EventRow[] {
    return this.#store.rows({
      from: options.from ?? 1,
      to: options.to ?? Number.MAX_SAFE_INTEGER,
      limit: options.limit ?? READ_LIMIT,
      reverse: options.reverse ?? false,
    });
  }

  #decode(row: EventRow): StoredEvent<M> {
    const header = toHeader(row);
    const stored = this.#payloads.open(row, header);
    if (!this.#knows(header))
      this.#close(
        "log_newer_than_code",
        `this build does not know ${header.type}@${header.version}`,
      );
    const old = stored !== null && header.version < (this.#versions.get(header.type) ?? 0);
    const payload = old
      ? this.#options.catalogue.upcast(header.type as keyof M & string, header.version, stored)
      : stored;
    return { type: header.type, header, hash: row.hash, payload } as StoredEvent<M>;
  }

  #foldTo<S>(fold: Fold<M, S>, upTo: number): S {
    const base = this.base().seq;
    const start = this.#snapshots.newest(fold, upTo) ?? { state: fold.initial(), seq: 0 };
    if (start.seq < base) {
      const message = "the state that the pruned events were folded into cannot be read";
      this.#close("log_corrupt", message);
      throw new AppError("log_corrupt", message, { kind: "faulted", detail: { seq: base } });
    }
    let { state } = start;
    this.#forEach(start.seq + 1, upTo, (event) => {
      // Only a read-only log holds unknown events; what is known of it is still worth showing.
      if (this.#knows(event.header)) state = fold.evolve(state, event);
    });
    return state;
  }

  /** In order, in bounded slices. A gap is not repaired: the log closes and stays readable. */
  #forEach(from: number, to: number, visit: (event: StoredEvent<M>) => void): void {
    this.#forEachRow(from, to, (row) => visit(this.#decode(row)));
  }

  #forEachRow(from: number, to: number, visit: (row: EventRow) => void): void {
    let expected = from;
    while (expected <= to) {
      const rows = this.#rows({ from: expected, to, limit: SLICE });
      if (rows.length === 0) this.#quarantine(expected);
      for (const row of rows) {
        if (row.seq !== expected) this.#quarantine(expected);
        visit(row);
        expected += 1;
      }
    }
  }

  #quarantine(missing: number): never {
    const message = `event ${missing} is missing`;
    this.#close("log_corrupt", message);
    throw new AppError("log_corrupt", message, { kind: "faulted", detail: { seq: missing } });
  }

  #refreshProjections(): void {
    const head = this.#store.head().seq;
    if (!this.#mode.writable || head === 0) return;
    try {
      const base = this.base().seq;
      this.#projections.refresh(base, (visit) => this.#forEach(base + 1, head, visit));
    } catch (error) {
      // A log that was found broken on the way is closed by then, and must open all the same to be read.
      if (this.#mode.writable) throw error;
    }
  }

  /** Cheap checks of an opened log: the newest row fits its hash, and the code knows every type it holds. */
  #inspect(): void {
    const { seq, hash } = this.#store.head();
    const [row] = seq === 0 ? [] : this.#rows({ from: seq, to: seq });
    if (row !== undefined && this.#options.hasher.sha256(utf8(row.header)) !== hash) {
      this.#close("log_corrupt", `the header of event ${seq} does not fit its hash`);
    }
    const unknown = findUnknown(readVocabulary(this.#store), this.#versions);
    if (unknown !== null) this.#close("log_newer_than_code", `this build does not know ${unknown}`);
  }

  /** The first append of this writer, or the first after a rollback of it. */
  #takeOver(vocabulary: ReadonlySet<string>): void {
    const unknown = findUnknown(vocabulary, this.#versions);
    if (unknown !== null) {
      this.#close("log_newer_than_code", `this build does not know ${unknown}`);
      this.#requireWritable();
    }
    if (this.#store.meta("log_id") === null) this.#store.setMeta("log_id", this.logId);
    this.#projections.markCurrent();
  }

  #knows(header: EventHeader): boolean {
    return header.version <= (this.#versions.get(header.type) ?? 0);
  }

  #versioned(type: string): VersionedType {
    const version = this.#versions.get(type);
    invariant(version !== undefined, `event type ${type} is in the catalogue`);
    return `${type}@${version}`;
  }

  #requireWritable(): void {
    if (this.#mode.writable) return;
    const { reason, message } = this.#mode;
    throw new AppError(reason, `the log is read-only: ${message}`, { kind: "faulted" });
  }

  /** The first reason stays: what follows from it would only hide it. */
  #close(reason: ReadOnlyReason, message: string): void {
    if (this.#mode.writable) this.#mode = { writable: false, reason, message };
  }
}

function isExpected(seq: number, expected: number | undefined): boolean {
  return expected === undefined || expected === seq;
}
