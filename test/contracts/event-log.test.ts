/** The event-log contract over every adapter that runs in Node. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryBlobStore } from "#adapters/blob/memory-blob-store.ts";
import { IdentityCodec } from "#adapters/codec/identity-codec.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { RandomIds } from "#adapters/ids/random-ids.ts";
import type { EventRow, SnapshotRow } from "#adapters/log/log-store.ts";
import { MemoryDatabase } from "#adapters/log/memory-database.ts";
import { MemoryEventLog } from "#adapters/log/memory-event-log.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { migrate } from "#db/migrate.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { Projection } from "#ports/event-log.ts";
import {
  CATALOGUE,
  createSqlLogHarness,
  type LogHarness,
  type TestEvents,
} from "./event-log-harness.ts";
import { eventLogContract } from "./event-log.ts";

const hasher = new NodeHasher();
const ids = new RandomIds();

function migrated(database: NodeSqlite): NodeSqlite {
  const result = migrate(database, OBJECT_MIGRATIONS, hasher);
  if (!result.ok) throw new Error(result.error.message);
  return database;
}

function createFileHarness(): LogHarness {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-log-"));
  const path = join(folder, "object.sqlite");
  const connections = [migrated(new NodeSqlite(path))];
  const [database] = connections;
  if (database === undefined) throw new Error("unreachable");
  return createSqlLogHarness({
    database,
    hasher,
    ids,
    reconnect: () => {
      const connection = new NodeSqlite(path);
      connections.push(connection);
      return connection;
    },
    close: () => {
      for (const connection of connections) connection.close();
      rmSync(folder, { recursive: true });
    },
  });
}

function createMemoryHarness(): LogHarness {
  const database = new MemoryDatabase();
  const blobs = new MemoryBlobStore(database);
  const rows = database.table<number>("tally");
  const events = database.table<EventRow | undefined>("events");
  const snapshots = database.table<SnapshotRow>("snapshots");
  const tables = ["events", "blobs", "snapshots", "meta", "outbox_cursors", "tally"];
  return {
    hasher,
    blobs,
    open: (options = {}) =>
      new MemoryEventLog({
        catalogue: CATALOGUE,
        ...options,
        database,
        blobs,
        hasher,
        ids,
        codec: new IdentityCodec(),
      }),
    tally: (version): Projection<TestEvents> & { resets: number; base: number } => ({
      name: "tally",
      version,
      resets: 0,
      base: 0,
      reset(base) {
        this.resets += 1;
        this.base = base;
        rows.clear();
      },
      apply: (event) => rows.set(event.type, (rows.get(event.type) ?? 0) + 1),
    }),
    tallied: () => Object.fromEntries(rows.entries()),
    dropEvent: (seq) => events.set(String(seq), undefined),
    rewriteHeader: (seq, header) => {
      const row = events.get(String(seq));
      if (row !== undefined) events.set(String(seq), { ...row, header });
    },
    damageSnapshot: (seq) => {
      for (const [key, row] of snapshots.entries()) {
        if (row.seq === seq) snapshots.set(key, { ...row, state: new TextEncoder().encode("{}") });
      }
    },
    // A value in memory has no row to outgrow; the limit is a rule of SQLite.
    largestRow: () => 0,
    dump: () => JSON.stringify(tables.map((table) => database.table(table).entries())),
    close: () => {},
  };
}

type Body = (harness: LogHarness) => void | Promise<void>;

const using =
  (makeHarness: () => LogHarness) =>
  async (body: Body): Promise<void> => {
    const harness = makeHarness();
    try {
      await body(harness);
    } finally {
      harness.close();
    }
  };

eventLogContract("memory", using(createMemoryHarness));
eventLogContract(
  "node-sqlite :memory:",
  using(() => createSqlLogHarness({ database: migrated(new NodeSqlite()), hasher, ids })),
);
eventLogContract("node-sqlite file", using(createFileHarness));
