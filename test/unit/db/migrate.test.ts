import { expect, test } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { SqliteBlobStore } from "#adapters/blob/sqlite-blob-store.ts";
import { IdentityCodec } from "#adapters/codec/identity-codec.ts";
import { RandomIds } from "#adapters/ids/random-ids.ts";
import { SqliteEventLog } from "#adapters/log/sqlite-event-log.ts";
import { migrate, type Migration } from "#db/migrate.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import { CATALOGUE, type TestEvents } from "#test/contracts/event-log-harness.ts";

const hasher = new NodeHasher();
const first: Migration = {
  id: "0000_first",
  sql: "CREATE TABLE a (id INTEGER PRIMARY KEY)\n--> statement-breakpoint\nCREATE TABLE b (id INTEGER PRIMARY KEY)",
};
const second: Migration = { id: "0001_second", sql: "CREATE TABLE c (id INTEGER PRIMARY KEY)" };
const tables = (database: NodeSqlite): readonly unknown[] =>
  database
    .exec("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .map((row) => row["name"]);

test("[L6] pending migrations are applied in order, once", () => {
  const database = new NodeSqlite();
  expect(migrate(database, [first], hasher)).toEqual({
    ok: true,
    value: { applied: ["0000_first"] },
  });
  expect(migrate(database, [first, second], hasher)).toEqual({
    ok: true,
    value: { applied: ["0001_second"] },
  });
  expect(migrate(database, [first, second], hasher)).toEqual({ ok: true, value: { applied: [] } });
  expect(tables(database)).toEqual(["a", "b", "c", "schema_migrations"]);
});

test("[L6] a failing migration is a value, and none of the pending ones is kept", () => {
  const database = new NodeSqlite();
  const broken: Migration = {
    id: "0001_broken",
    sql: "CREATE TABLE c (id INTEGER PRIMARY KEY)\n--> statement-breakpoint\nCREATE TABLE a (id INTEGER)",
  };
  expect(migrate(database, [first, broken], hasher)).toMatchObject({
    ok: false,
    error: { reason: "migration_error", id: "0001_broken" },
  });
  expect(tables(database)).toEqual([]);
});

test.each<readonly [string, readonly Migration[], object]>([
  [
    "edited",
    [{ ...first, sql: `${first.sql} ` }, second],
    { reason: "migration_edited", id: "0000_first" },
  ],
  ["missing, as in an older build", [first], { reason: "migration_unknown", id: "0001_second" }],
  [
    "in another order",
    [{ ...second, id: "0000_earlier" }, first, second],
    { reason: "migration_unknown", id: "0000_first" },
  ],
])("[L6] an applied migration that is %s is refused and nothing changes", (_what, known, error) => {
  const database = new NodeSqlite();
  migrate(database, [first, second], hasher);
  expect(migrate(database, known, hasher)).toMatchObject({ ok: false, error });
  expect(tables(database)).toEqual(["a", "b", "c", "schema_migrations"]);
});

test("[L6] an object whose very first migration failed reads as an empty log and refuses writes", () => {
  const database = new NodeSqlite();
  const readOnly = { reason: "migration_failed", message: "0000 failed" } as const;
  const log = new SqliteEventLog<TestEvents>({
    database,
    blobs: new SqliteBlobStore(database),
    hasher,
    ids: new RandomIds(),
    codec: new IdentityCodec(),
    catalogue: CATALOGUE,
    readOnly,
  });
  expect([log.head().seq, log.read()]).toEqual([0, []]);
  expect(() => log.append([{ type: "note.added", payload: { text: "x" } }], { at: 1 })).toThrow(
    expect.objectContaining({ code: "migration_failed" }),
  );
});

test("[L6] the shipped migrations apply to an empty database", () => {
  const database = new NodeSqlite();
  expect(migrate(database, OBJECT_MIGRATIONS, hasher).ok).toBe(true);
  expect(tables(database)).toContain("events");
});
