/**
 * LogStore: what ChainedEventLog asks of a technology. Internal to this folder; the port is EventLog.
 *
 * Everything is synchronous and joins the running transaction. The store knows rows, never what they mean.
 */
import type { BlobStore } from "#ports/blob-store.ts";
import type { OutboxCursor } from "#ports/event-log.ts";

/** PERSISTED CONTRACT: one row of `events`. */
export interface EventRow {
  readonly seq: number;
  readonly header: string;
  readonly hash: string;
  /** Null once erased. */
  readonly salt: Uint8Array | null;
  /** Null once erased, and where the header names a blob. */
  readonly payload: Uint8Array | null;
}
export interface StoredHead {
  /** 0 and null for an empty log. */
  readonly seq: number;
  readonly hash: string | null;
  /** Meta value `claim`: which writer may append. */
  readonly claim: string | null;
}
export interface SnapshotRow {
  readonly fold: string;
  readonly seq: number;
  readonly version: number;
  readonly digest: string;
  readonly ref: string | null;
  readonly state: Uint8Array | null;
}
/** A snapshot without what it holds. */
export type SnapshotEntry = Omit<SnapshotRow, "state">;
export interface RowRange {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
  readonly reverse: boolean;
}

export interface LogStore {
  readonly blobs: BlobStore;
  transaction<T>(work: () => T): T;
  /** Head and claim in one read. */
  head(): StoredHead;
  /**
   * Stores `row` directly behind the row that `previous` names, in one statement: false, and nothing is written, where
   * that is not the newest row. So a head from memory can be tried without being believed.
   */
  insert(row: EventRow, previous: Pick<StoredHead, "seq" | "hash">): boolean;
  rows(range: RowRange): readonly EventRow[];
  /** Salt and payload of one row become null. */
  eraseRow(seq: number): void;
  /** Rows up to this seq are gone. */
  deleteRows(upTo: number): void;
  meta(key: string): string | null;
  setMeta(key: string, value: string): void;
  cursors(): readonly OutboxCursor[];
  setCursor(cursor: OutboxCursor): void;
  /** Newest first, without their states: opening reads only the one it uses. */
  snapshots(fold: string | null): readonly SnapshotEntry[];
  snapshotState(fold: string, seq: number): Uint8Array | null;
  insertSnapshot(row: SnapshotRow): void;
  deleteSnapshot(fold: string, seq: number): void;
}
