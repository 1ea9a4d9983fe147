/** A database in memory with the tables, indexes and rows of another: what many plays of one test begin with. */
import { DatabaseSync } from "node:sqlite";

export function copyOf(from: DatabaseSync): DatabaseSync {
  const copy = new DatabaseSync(":memory:");
  const schema = from
    .prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC")
    .all();
  for (const { type, name, sql } of schema) {
    copy.exec(String(sql));
    if (type !== "table") continue;
    for (const row of from.prepare(`SELECT * FROM "${String(name)}"`).all()) {
      const columns = Object.keys(row);
      const values = columns.map(() => "?").join(", ");
      copy
        .prepare(`INSERT INTO "${String(name)}" (${columns.join(", ")}) VALUES (${values})`)
        .run(...Object.values(row));
    }
  }
  return copy;
}
