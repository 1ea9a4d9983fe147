/**
 * D1 over node:sqlite, with the migrations applied: the part of D1's interface that drizzle calls, so that the real
 * adapters run in plain Node. Statements of a batch share one transaction, as in D1.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue } from "node:sqlite";

const MIGRATIONS = join(import.meta.dirname, "../../migrations/d1");

export interface NodeD1 {
  readonly d1: D1Database;
  readonly sqlite: DatabaseSync;
  /** Statements executed so far. */
  readonly executed: () => number;
}

export function createNodeD1(): NodeD1 {
  const sqlite = new DatabaseSync(":memory:");
  for (const file of readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith(".sql"))
    .toSorted()) {
    sqlite.exec(readFileSync(join(MIGRATIONS, file), "utf8"));
  }
  return nodeD1(sqlite);
}

/** Over a database that has its tables. */
export function nodeD1(sqlite: DatabaseSync): NodeD1 {
  let executed = 0;
  const run = (query: string, params: readonly unknown[]) => {
    executed += 1;
    return sqlite.prepare(query).all(...(params as SQLInputValue[]));
  };
  const statement = (query: string, params: readonly unknown[]) => ({
    bind: (...bound: unknown[]) => statement(query, bound),
    now: () => ({ success: true, meta: {}, results: run(query, params) }),
    run: async () => ({ success: true, meta: {}, results: run(query, params) }),
    all: async () => ({ success: true, meta: {}, results: run(query, params) }),
    raw: async () => run(query, params).map((row) => Object.values(row)),
    first: async () => run(query, params)[0] ?? null,
  });
  const database = {
    prepare: (query: string) => statement(query, []),
    batch: async (statements: readonly ReturnType<typeof statement>[]) => {
      sqlite.exec("begin");
      try {
        const results = statements.map((each) => each.now());
        sqlite.exec("commit");
        return results;
      } catch (error) {
        sqlite.exec("rollback");
        throw error;
      }
    },
  };
  return { d1: database as unknown as D1Database, sqlite, executed: () => executed };
}
