/**
 * What the event-log contract needs of a technology beside the port: reopening on the same state, rows of a
 * projection that commit with the log, and ways to damage what is stored.
 *
 * No runtime is imported here, so the SQL harness serves Node and workerd alike.
 */
import { SqliteBlobStore } from "#adapters/blob/sqlite-blob-store.ts";
import { IdentityCodec } from "#adapters/codec/identity-codec.ts";
import type { ChainedLogOptions } from "#adapters/log/log-options.ts";
import { SqliteEventLog } from "#adapters/log/sqlite-event-log.ts";
import type { BlobStore } from "#ports/blob-store.ts";
import type { Catalogue, EventLog, Projection } from "#ports/event-log.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { Ids } from "#ports/ids.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export interface TestEvents {
  readonly "note.added": { readonly text: string };
  readonly "note.counted": { readonly count: number };
}
export const CATALOGUE: Catalogue<TestEvents> = {
  name: "test",
  versions: { "note.added": 1, "note.counted": 1 },
  upcast: (_type, _version, payload) => payload,
};

export type OpenOptions = Partial<
  Pick<ChainedLogOptions<TestEvents>, "catalogue" | "projections" | "defaults" | "readOnly">
>;

export interface LogHarness {
  readonly hasher: Hasher;
  readonly blobs: BlobStore;
  /** A log on this harness's state. Again: a restart, or a second writer. */
  open(options?: OpenOptions): EventLog<TestEvents>;
  /** Counts events per type in rows that commit with the log. `resets` counts rebuilds of this instance. */
  tally(
    version: number,
  ): Projection<TestEvents> & { readonly resets: number; readonly base: number };
  tallied(): { readonly [type: string]: number };
  /** Takes one event away, behind the log's back. */
  dropEvent(seq: number): void;
  rewriteHeader(seq: number, header: string): void;
  damageSnapshot(seq: number): void;
  /** Bytes of the largest stored row. */
  largestRow(): number;
  /** All rows of all tables, as text: equal when nothing was written. */
  dump(): string;
  close(): void;
}

export interface SqlHarnessParts {
  readonly database: SqlDatabase;
  readonly hasher: Hasher;
  readonly ids: Ids;
  /** Another connection to the same state, where the technology has such a thing. */
  readonly reconnect?: () => SqlDatabase;
  readonly close?: () => void;
}

/** One test on a fresh harness. */
export type Check = (title: string, body: (harness: LogHarness) => void | Promise<void>) => void;

export function note(text: string): {
  readonly type: "note.added";
  readonly payload: { readonly text: string };
} {
  return { type: "note.added", payload: { text } };
}

/** Appends `count` notes in appends of their own. */
export function fill(log: EventLog<TestEvents>, count: number): void {
  for (let index = 0; index < count; index += 1)
    log.append([note(`note ${index}`)], { at: 1_000 + index });
}

export function codeOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

const TABLES = [
  "events",
  "blobs",
  "blob_chunks",
  "snapshots",
  "meta",
  "outbox_cursors",
  "tally",
] as const;

/** `database` has the object's migrations applied. */
export function createSqlLogHarness(parts: SqlHarnessParts): LogHarness {
  const { database, hasher, ids } = parts;
  database.exec(
    "CREATE TABLE IF NOT EXISTS tally (type TEXT PRIMARY KEY NOT NULL, count INTEGER NOT NULL) STRICT, WITHOUT ROWID",
  );
  let connection = database;
  return {
    hasher,
    blobs: new SqliteBlobStore(database),
    open: (options = {}) => {
      connection = parts.reconnect?.() ?? database;
      const blobs = new SqliteBlobStore(connection);
      return new SqliteEventLog({
        catalogue: CATALOGUE,
        ...options,
        database: connection,
        blobs,
        hasher,
        ids,
        codec: new IdentityCodec(),
      });
    },
    // Writes through the connection of the log that was opened last: a projection commits with its own log.
    tally: (version) => new SqlTally(() => connection, version),
    tallied: () =>
      Object.fromEntries(
        database
          .exec("SELECT type, count FROM tally")
          .map((row) => [String(row["type"]), Number(row["count"])]),
      ),
    dropEvent: (seq) => void database.exec("DELETE FROM events WHERE seq = ?", seq),
    rewriteHeader: (seq, header) =>
      void database.exec("UPDATE events SET header = ? WHERE seq = ?", header, seq),
    damageSnapshot: (seq) =>
      void database.exec("UPDATE snapshots SET state = CAST('{}' AS BLOB) WHERE seq = ?", seq),
    largestRow: () =>
      Math.max(
        ...["events", "blob_chunks", "snapshots"].map((table) => largestRow(database, table)),
      ),
    dump: () =>
      JSON.stringify(
        TABLES.map((table) =>
          database.exec(`SELECT * FROM ${table}`).map((row) => Object.values(row).map(String)),
        ),
      ),
    close: () => parts.close?.(),
  };
}

const SIZES: { readonly [table: string]: string } = {
  events:
    "length(CAST(header AS BLOB)) + length(hash) + coalesce(length(salt), 0) + coalesce(length(payload), 0)",
  blob_chunks: "length(address) + length(content)",
  snapshots: "length(digest) + coalesce(length(state), 0)",
};

function largestRow(database: SqlDatabase, table: string): number {
  const [row] = database.exec(`SELECT coalesce(max(${SIZES[table]}), 0) AS bytes FROM ${table}`);
  return Number(row?.["bytes"]);
}

class SqlTally implements Projection<TestEvents> {
  readonly name = "tally";
  readonly version: number;
  readonly #database: () => SqlDatabase;
  resets = 0;
  base = 0;

  constructor(database: () => SqlDatabase, version: number) {
    this.#database = database;
    this.version = version;
  }

  reset(base: number): void {
    this.resets += 1;
    this.base = base;
    this.#database().exec("DELETE FROM tally");
  }

  apply(event: { readonly type: string }): void {
    this.#database().exec(
      "INSERT INTO tally (type, count) VALUES (?, 1) ON CONFLICT (type) DO UPDATE SET count = count + 1",
      event.type,
    );
  }
}
