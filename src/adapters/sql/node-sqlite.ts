/**
 * SqlDatabase over `node:sqlite`: the same log and projections in plain Node, for tests, tools and the runner.
 *
 * A file is opened with WAL and `synchronous=FULL`, so a returned append survives a power cut. One statement a call:
 * `prepare` would silently ignore a second one.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { SqlDatabase, SqlRow, SqlValue } from "#ports/sql.ts";
import { JoinedTransaction } from "./joined-transaction.ts";
import { assertStatementFits, toStorageError } from "./statement-limits.ts";

/** Far above the number of distinct statements of the product; a bound for generated SQL. */
const MAX_CACHED_STATEMENTS = 256;
const BUSY_TIMEOUT_MS = 5_000;

export class NodeSqlite implements SqlDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #transaction = new JoinedTransaction();

  constructor(path: string = ":memory:") {
    this.#database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    this.#database.exec("PRAGMA foreign_keys = ON");
    if (path !== ":memory:") {
      this.#database.exec("PRAGMA journal_mode = WAL");
      this.#database.exec("PRAGMA synchronous = FULL");
    }
  }

  exec(sql: string, ...params: readonly SqlValue[]): readonly SqlRow[] {
    assertStatementFits(params);
    try {
      return this.#prepare(sql).all(...params) as readonly SqlRow[];
    } catch (error) {
      throw toStorageError(error);
    }
  }

  transaction<T>(work: () => T): T {
    return this.#transaction.run(work, (body) => {
      // IMMEDIATE takes the write lock before the head is read, so two writers cannot both build on one head.
      this.exec("BEGIN IMMEDIATE");
      try {
        const value = body();
        this.exec("COMMIT");
        return value;
      } catch (error) {
        // SQLite has already rolled back after some failures (a full disk); then there is nothing left to undo.
        if (this.#database.isTransaction) this.exec("ROLLBACK");
        throw error;
      }
    });
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #prepare(sql: string): StatementSync {
    const cached = this.#statements.get(sql);
    if (cached !== undefined) return cached;
    if (this.#statements.size >= MAX_CACHED_STATEMENTS) this.#statements.clear();
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
