/** The blob-store contract over every adapter that runs in Node. */
import { expect, test } from "vitest";
import { MemoryBlobStore } from "#adapters/blob/memory-blob-store.ts";
import { SqliteBlobStore } from "#adapters/blob/sqlite-blob-store.ts";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { MemoryDatabase } from "#adapters/log/memory-database.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { migrate } from "#db/migrate.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import type { SqlDatabase, SqlRow, SqlValue } from "#ports/sql.ts";
import { blobStoreContract } from "./blob-store.ts";

function openDatabase(): NodeSqlite {
  const database = new NodeSqlite();
  migrate(database, OBJECT_MIGRATIONS, new NodeHasher());
  return database;
}

blobStoreContract("memory", () => new MemoryBlobStore(new MemoryDatabase()));
blobStoreContract("sqlite", () => new SqliteBlobStore(openDatabase()));

test("[L8] a range reads only the chunks that it touches", () => {
  const database = openDatabase();
  const chunksRead: SqlValue[] = [];
  const counted: SqlDatabase = {
    exec: (sql, ...params): readonly SqlRow[] => {
      if (sql.startsWith("SELECT content")) chunksRead.push(params[1] ?? null);
      return database.exec(sql, ...params);
    },
    transaction: (work) => database.transaction(work),
  };
  const store = new SqliteBlobStore(counted);
  store.put("a", new Uint8Array(3_000_000));
  store.get("a", { offset: 600_000, limit: 10 });
  store.get("a", { offset: 524_280, limit: 16 });
  store.get("a", { offset: 3_000_000, limit: 10 });
  expect(chunksRead).toEqual([1, 0, 1]);
});
