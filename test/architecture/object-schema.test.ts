/** The drizzle schema, the SQL files and the generated list of them say the same. */
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { expect, test } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { migrate } from "#db/migrate.ts";
import * as schema from "#db/object-schema.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "../../migrations/object");
const database = new NodeSqlite();
const migrated = migrate(database, OBJECT_MIGRATIONS, new NodeHasher());
const declared: readonly SQLiteTable[] = Object.values(schema);

test("[L6] the generated migration list is the .sql files, in order", () => {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
  const expected = files.map((name) => ({
    id: name.replace(/\.sql$/, ""),
    sql: readFileSync(join(folder, name), "utf8"),
  }));
  expect(OBJECT_MIGRATIONS).toEqual(expected);
  expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_name, index) => index));
});

test("[L6] the migrated tables are those of the drizzle schema", () => {
  expect(migrated.ok).toBe(true);
  const names = database
    .exec(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'schema_migrations' ORDER BY name",
    )
    .map((row) => row["name"]);
  expect(names).toEqual(declared.map((table) => getTableConfig(table).name).toSorted());
});

test.each(declared.map((table) => [getTableConfig(table).name, table] as const))(
  "[L6] columns of %s agree with the drizzle schema",
  (name, table) => {
    const { columns, primaryKeys } = getTableConfig(table);
    const keys = columns
      .filter((column) => column.primary)
      .concat(primaryKeys.flatMap((key) => key.columns))
      .map((column) => column.name);
    const expected = columns.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      notnull: column.notNull ? 1 : 0,
      pk: keys.indexOf(column.name) + 1,
    }));
    const actual = database.exec(`PRAGMA table_info(${name})`).map((row) => ({
      name: row["name"],
      type: String(row["type"]).toLowerCase(),
      notnull: row["notnull"],
      pk: row["pk"],
    }));
    expect(actual).toEqual(expected);
  },
);

test("[L8] tables are strict, and hot tables have no secondary index", () => {
  const lax = database.exec(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
  );
  expect(lax).toEqual([]);
  const indexed = database
    .exec("SELECT tbl_name FROM sqlite_master WHERE type = 'index' ORDER BY tbl_name")
    .map((row) => row["tbl_name"]);
  // `run_id` and `approval_id` are unique, and a row of each is written twice in its life; WITHOUT ROWID keys are the tables themselves.
  expect(new Set(indexed.filter((name) => !isKeyedByItself(String(name))))).toEqual(
    new Set(["runs", "approvals"]),
  );
});

function isKeyedByItself(name: string): boolean {
  return database.exec("SELECT wr FROM pragma_table_list WHERE name = ?", name)[0]?.["wr"] === 1;
}
