/** LogStore in a MemoryDatabase. */
import type { BlobStore } from "#ports/blob-store.ts";
import type { OutboxCursor } from "#ports/event-log.ts";
import type {
  EventRow,
  LogStore,
  RowRange,
  SnapshotEntry,
  SnapshotRow,
  StoredHead,
} from "./log-store.ts";
import { readBase } from "./log-base.ts";
import type { MemoryDatabase, MemoryTable } from "./memory-database.ts";

export class MemoryLogStore implements LogStore {
  readonly blobs: BlobStore;
  readonly #database: MemoryDatabase;
  readonly #events: MemoryTable<EventRow>;
  readonly #meta: MemoryTable<string>;
  readonly #cursors: MemoryTable<OutboxCursor>;
  readonly #snapshots: MemoryTable<SnapshotRow>;

  constructor(database: MemoryDatabase, blobs: BlobStore) {
    this.blobs = blobs;
    this.#database = database;
    this.#events = database.table("events");
    this.#meta = database.table("meta");
    this.#cursors = database.table("outbox_cursors");
    this.#snapshots = database.table("snapshots");
  }

  transaction<T>(work: () => T): T {
    return this.#database.transaction(work);
  }

  head(): StoredHead {
    const row = this.#events.get(String(this.#last()));
    return { seq: row?.seq ?? 0, hash: row?.hash ?? null, claim: this.meta("claim") };
  }

  insert(row: EventRow, previous: Pick<StoredHead, "seq" | "hash">): boolean {
    const head = this.head();
    if (head.seq !== previous.seq || head.hash !== previous.hash) return false;
    this.#events.set(String(row.seq), row);
    return true;
  }

  rows(range: RowRange): readonly EventRow[] {
    const first = Math.max(range.from, 1);
    const last = Math.min(range.to, this.#last());
    const rows: EventRow[] = [];
    for (let step = 0; step <= last - first && rows.length < range.limit; step += 1) {
      const row = this.#events.get(String(range.reverse ? last - step : first + step));
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  eraseRow(seq: number): void {
    const row = this.#events.get(String(seq));
    if (row !== undefined) this.#events.set(String(seq), { ...row, salt: null, payload: null });
  }

  deleteRows(upTo: number): void {
    for (let seq = this.#base() + 1; seq <= upTo; seq += 1) this.#events.delete(String(seq));
  }

  meta(key: string): string | null {
    return this.#meta.get(key) ?? null;
  }

  setMeta(key: string, value: string): void {
    this.#meta.set(key, value);
  }

  cursors(): readonly OutboxCursor[] {
    return this.#cursors.values().toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  setCursor(cursor: OutboxCursor): void {
    this.#cursors.set(cursor.name, cursor);
  }

  snapshots(fold: string | null): readonly SnapshotEntry[] {
    return this.#snapshots
      .values()
      .filter((row) => fold === null || row.fold === fold)
      .toSorted((a, b) => b.seq - a.seq);
  }

  snapshotState(fold: string, seq: number): Uint8Array | null {
    return this.#snapshots.get(`${fold}@${seq}`)?.state ?? null;
  }

  insertSnapshot(row: SnapshotRow): void {
    this.#snapshots.set(`${row.fold}@${row.seq}`, row);
  }

  deleteSnapshot(fold: string, seq: number): void {
    this.#snapshots.delete(`${fold}@${seq}`);
  }

  /** Rows are removed from the beginning only, so the newest one is found by their number. */
  #last(): number {
    return this.#base() + this.#events.size;
  }

  #base(): number {
    return readBase(this).seq;
  }
}
