/** Both SQLite adapters against the port; the object's storage is played by node:sqlite, its quirks included. */
import { describe, expect, test } from "vitest";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { ObjectSqlite, type ObjectStorage } from "#adapters/sql/object-sqlite.ts";
import type { SqlDatabase, SqlValue } from "#ports/sql.ts";

/** Blobs come back as ArrayBuffer, and a nested transaction is refused so that joining is seen to happen. */
function createObjectStorage(): ObjectStorage {
  const database = new NodeSqlite();
  let open = false;
  return {
    sql: {
      exec: (query, ...bindings: readonly SqlValue[]) => ({
        toArray: () =>
          database
            .exec(query, ...bindings)
            .map((row) =>
              Object.fromEntries(
                Object.entries(row).map(([key, value]) => [
                  key,
                  value instanceof Uint8Array ? value.slice().buffer : value,
                ]),
              ),
            ),
      }),
    },
    sync: () => Promise.resolve(),
    transactionSync: (work) => {
      if (open) throw new Error("nested");
      open = true;
      try {
        return database.transaction(work);
      } finally {
        open = false;
      }
    },
  };
}

/** Compiles only while the platform's own storage fits the structural type. */
export const fitsPlatform = (storage: DurableObjectStorage): ObjectStorage => storage;

const adapters: readonly (readonly [string, () => SqlDatabase])[] = [
  ["node", () => new NodeSqlite()],
  ["object", () => new ObjectSqlite(createObjectStorage())],
];

describe.each(adapters)("%s sqlite", (_name, open) => {
  function createTable(): SqlDatabase {
    const database = open();
    database.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, value ANY) STRICT");
    return database;
  }
  const insert = (database: SqlDatabase, value: SqlValue): void =>
    void database.exec("INSERT INTO t (value) VALUES (?)", value);
  const values = (database: SqlDatabase): readonly unknown[] =>
    database.exec("SELECT value FROM t ORDER BY id").map((row) => row["value"]);

  test("[L2] numbers, strings, null and bytes come back as they went in", () => {
    const database = createTable();
    const stored: readonly SqlValue[] = [
      1,
      -1.5,
      Number.MAX_SAFE_INTEGER,
      "漢\u0000",
      null,
      new Uint8Array([0, 255]),
      new Uint8Array(0),
    ];
    for (const value of stored) insert(database, value);
    expect(values(database)).toEqual(stored);
    insert(database, new Uint8Array([9, 1, 2, 9]).subarray(1, 3));
    expect(values(database).at(-1)).toEqual(new Uint8Array([1, 2]));
  });

  test("[L2] a throw rolls back the whole transaction and is passed on as it is", () => {
    const database = createTable();
    const failure = new Error("mine");
    const attempt = (): void =>
      database.transaction(() => {
        insert(database, 1);
        database.transaction(() => insert(database, 2));
        throw failure;
      });
    expect(attempt).toThrow(failure);
    expect(values(database)).toEqual([]);
    expect(database.transaction(() => database.transaction(() => "joined"))).toBe("joined");
  });

  test("[L2] an inner failure that is swallowed, or an async callback, does not commit", () => {
    const database = createTable();
    const swallow = (): void =>
      database.transaction(() => {
        try {
          database.transaction(() => {
            insert(database, 1);
            throw new Error("inner");
          });
        } catch {
          insert(database, 2);
        }
      });
    expect(swallow).toThrow("not committed");
    expect(() => database.transaction(async () => insert(database, 3))).toThrow("synchronous");
    expect(values(database)).toEqual([]);
    database.transaction(() => insert(database, 4));
    expect(values(database)).toEqual([4]);
  });

  test("[L8] a row beyond 1.5 MiB or a hundredth-and-first parameter is refused before it is stored", () => {
    const database = createTable();
    const refused = { code: "storage_failed", kind: "faulted" };
    expect(() => insert(database, new Uint8Array(1_572_865))).toThrow(
      expect.objectContaining(refused),
    );
    expect(() => insert(database, "漢".repeat(524_289))).toThrow(expect.objectContaining(refused));
    insert(database, "漢".repeat(524_288));
    insert(database, new Uint8Array(1_572_864));
    expect(() =>
      database.exec(`SELECT ${"?,".repeat(100)}?`, ...Array.from({ length: 101 }, () => 1)),
    ).toThrow(expect.objectContaining(refused));
    expect(values(database)).toHaveLength(2);
  });

  test("[L2] a statement that fails is storage_failed with its cause", () => {
    const database = createTable();
    expect(() => database.exec("SELECT nothing FROM nowhere")).toThrow(
      expect.objectContaining({ code: "storage_failed" }),
    );
  });
});
