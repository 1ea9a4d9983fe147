/**
 * EventLog over SqlDatabase: the same class in Node and in a Durable Object. Tables are those of #db/object-schema.ts.
 *
 * An append costs one statement per event; everything else happens at open or rarely.
 */
import { isAppError } from "#shared/errors.ts";
import type { BlobStore } from "#ports/blob-store.ts";
import type { OutboxCursor } from "#ports/event-log.ts";
import type { SqlDatabase, SqlRow } from "#ports/sql.ts";
import { ChainedEventLog } from "./chained-event-log.ts";
import type { ChainedLogOptions } from "./log-options.ts";
import type {
  EventRow,
  LogStore,
  RowRange,
  SnapshotEntry,
  SnapshotRow,
  StoredHead,
} from "./log-store.ts";
import { MemoryDatabase } from "./memory-database.ts";
import { MemoryLogStore } from "./memory-log-store.ts";

export interface SqliteEventLogOptions<M> extends ChainedLogOptions<M> {
  readonly database: SqlDatabase;
  readonly blobs: BlobStore;
}

export class SqliteEventLog<M> extends ChainedEventLog<M> {
  constructor(options: SqliteEventLogOptions<M>) {
    super(toStore(options), options);
  }
}

/** Where the very first migration failed there are no tables: such an object reads as an empty log, not as an error. */
function toStore<M>(options: SqliteEventLogOptions<M>): LogStore {
  const { database, blobs, readOnly } = options;
  const present =
    readOnly === undefined ||
    database.exec("SELECT 1 FROM sqlite_master WHERE name = 'events'").length > 0;
  return present
    ? new SqliteLogStore(database, blobs)
    : new MemoryLogStore(new MemoryDatabase(), blobs);
}

const HEAD =
  "SELECT seq, hash, (SELECT value FROM meta WHERE key = 'claim') AS claim FROM events ORDER BY seq DESC LIMIT 1";
const FIRST = "INSERT INTO events (seq, header, hash, salt, payload) VALUES (?, ?, ?, ?, ?)";
/**
 * Compare and append: without the row before, the hash is null and `NOT NULL` refuses it; with a row behind that one,
 * the primary key does.
 */
const NEXT =
  "INSERT INTO events (seq, header, hash, salt, payload) VALUES (?1, ?2, (SELECT ?3 FROM events WHERE seq = ?6 AND hash = ?7), ?4, ?5)";
const NOT_NEXT = /constraint failed: events\.(?:seq|hash)/;
const COLUMNS = "SELECT seq, header, hash, salt, payload FROM events WHERE seq BETWEEN ? AND ?";
const ASCENDING = `${COLUMNS} ORDER BY seq LIMIT ?`;
const DESCENDING = `${COLUMNS} ORDER BY seq DESC LIMIT ?`;

class SqliteLogStore implements LogStore {
  readonly blobs: BlobStore;
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase, blobs: BlobStore) {
    this.#database = database;
    this.blobs = blobs;
  }

  transaction<T>(work: () => T): T {
    return this.#database.transaction(work);
  }

  head(): StoredHead {
    const [row] = this.#database.exec(HEAD);
    if (row === undefined) return { seq: 0, hash: null, claim: this.meta("claim") };
    return { seq: Number(row["seq"]), hash: String(row["hash"]), claim: toText(row, "claim") };
  }

  insert(row: EventRow, previous: Pick<StoredHead, "seq" | "hash">): boolean {
    const { seq, header, hash, salt, payload } = row;
    try {
      if (previous.seq === 0) this.#database.exec(FIRST, seq, header, hash, salt, payload);
      else {
        this.#database.exec(NEXT, seq, header, hash, salt, payload, previous.seq, previous.hash);
      }
      return true;
    } catch (error) {
      if (isAppError(error) && NOT_NEXT.test(error.message)) return false;
      throw error;
    }
  }

  rows(range: RowRange): readonly EventRow[] {
    return this.#database
      .exec(range.reverse ? DESCENDING : ASCENDING, range.from, range.to, range.limit)
      .map((row) => ({
        seq: Number(row["seq"]),
        header: String(row["header"]),
        hash: String(row["hash"]),
        salt: toBytes(row, "salt"),
        payload: toBytes(row, "payload"),
      }));
  }

  /** Overwritten first, in its place: what SQLite merely unlinks stays in the file. */
  eraseRow(seq: number): void {
    this.#database.exec(
      "UPDATE events SET salt = zeroblob(length(salt)), payload = zeroblob(length(payload)) WHERE seq = ?",
      seq,
    );
    this.#database.exec("UPDATE events SET salt = NULL, payload = NULL WHERE seq = ?", seq);
  }

  deleteRows(upTo: number): void {
    this.#database.exec("DELETE FROM events WHERE seq <= ?", upTo);
  }

  meta(key: string): string | null {
    const [row] = this.#database.exec("SELECT value FROM meta WHERE key = ?", key);
    return row === undefined ? null : toText(row, "value");
  }

  setMeta(key: string, value: string): void {
    this.#database.exec(
      "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      key,
      value,
    );
  }

  cursors(): readonly OutboxCursor[] {
    return this.#database
      .exec("SELECT name, seq, required FROM outbox_cursors ORDER BY name")
      .map((row) => ({
        name: String(row["name"]),
        seq: Number(row["seq"]),
        required: row["required"] === 1,
      }));
  }

  setCursor(cursor: OutboxCursor): void {
    this.#database.exec(
      "INSERT INTO outbox_cursors (name, seq, required) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, required = excluded.required",
      cursor.name,
      cursor.seq,
      cursor.required ? 1 : 0,
    );
  }

  snapshots(fold: string | null): readonly SnapshotEntry[] {
    return this.#database
      .exec(
        "SELECT fold, seq, version, digest, ref FROM snapshots WHERE fold = ?1 OR ?1 IS NULL ORDER BY seq DESC",
        fold,
      )
      .map((row) => ({
        fold: String(row["fold"]),
        seq: Number(row["seq"]),
        version: Number(row["version"]),
        digest: String(row["digest"]),
        ref: toText(row, "ref"),
      }));
  }

  snapshotState(fold: string, seq: number): Uint8Array | null {
    const [row] = this.#database.exec(
      "SELECT state FROM snapshots WHERE fold = ? AND seq = ?",
      fold,
      seq,
    );
    return row === undefined ? null : toBytes(row, "state");
  }

  insertSnapshot(row: SnapshotRow): void {
    this.#database.exec(
      "INSERT INTO snapshots (fold, seq, version, digest, ref, state) VALUES (?, ?, ?, ?, ?, ?)",
      row.fold,
      row.seq,
      row.version,
      row.digest,
      row.ref,
      row.state,
    );
  }

  deleteSnapshot(fold: string, seq: number): void {
    this.#database.exec("DELETE FROM snapshots WHERE fold = ? AND seq = ?", fold, seq);
  }
}

function toText(row: SqlRow, column: string): string | null {
  const value = row[column];
  return typeof value === "string" ? value : null;
}

function toBytes(row: SqlRow, column: string): Uint8Array | null {
  const value = row[column];
  return value instanceof Uint8Array ? value : null;
}
