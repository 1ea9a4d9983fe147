/**
 * StorageWiper: makes what was erased unreadable in the files of an object's SQLite, not only in its tables.
 *
 * SQLite leaves deleted content in free pages, in the unused parts of live pages, and in the write-ahead log; a Durable
 * Object may neither switch `secure_delete` on nor VACUUM. So W1 every table that may hold content is written anew, W2 zeros
 * are written until all free pages are used up, in the same transaction, so that no page is left as it was, and W3 more
 * zeros than the write-ahead log holds pass through it, several times: it begins anew only once nobody reads it. Copies that the platform keeps of its own (point-in-time
 * recovery) are beyond any statement; docs/storage.md says for how long.
 */
import { invariant } from "#shared/exhaustive.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export interface WipedStorage {
  readonly database: SqlDatabase;
  /** Resolves once everything before it is in the files. */
  readonly flush: () => Promise<void>;
}
export type Wiped = "rewritten" | "overwritten";

/** Tables with a column that docs/storage.md marks as content. */
const CONTENT_TABLES = [
  "events",
  "blob_chunks",
  "snapshots",
  "meta",
  "commands",
  "runs",
  "files",
  "stream_blocks",
] as const;
const FILLER = "wiping";
const ROW_BYTES = 500_000;
/** Beyond it a transaction would hold up its object for seconds; then live pages keep what they do not use. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024;
const MAX_FILLED_BYTES = 256 * 1024 * 1024;
/** More than the pages after which SQLite begins its write-ahead log anew. */
const LOG_BYTES = 6_000_000;
const LOG_ROUNDS = 4;

export class StorageWiper {
  readonly #sql: SqlDatabase;
  readonly #flush: () => Promise<void>;

  constructor({ database, flush }: WipedStorage) {
    this.#sql = database;
    this.#flush = flush;
  }

  /** `freed`: at least how many bytes were ever taken away. May be repeated after a crash at any point. */
  async wipe(freed: number): Promise<Wiped> {
    this.#sql.exec(`DROP TABLE IF EXISTS ${FILLER}`);
    const live = this.#liveBytes();
    const target = freed + 2 * live + LOG_BYTES;
    const isSmall = live <= MAX_REWRITTEN_BYTES && target <= MAX_FILLED_BYTES;
    if (isSmall) this.#sql.transaction(() => this.#rewrite(target));
    else await this.#fillInSteps(Math.min(target, MAX_FILLED_BYTES));
    await this.#flush();
    for (let round = 0; round < LOG_ROUNDS; round += 1) {
      this.#sql.exec(`DELETE FROM ${FILLER}`);
      await this.#flush();
      // Pages of the filler's own tree had room beside its zeros: what is free is filled once more.
      this.#fill(round === 0 && isSmall ? target : LOG_BYTES);
      await this.#flush();
    }
    this.#sql.exec(`DROP TABLE ${FILLER}`);
    await this.#flush();
    return isSmall ? "rewritten" : "overwritten";
  }

  /** Copies go to new pages and free the old; zeros fill what is free; what comes back lies on pages of its own. */
  #rewrite(target: number): void {
    const schemas = CONTENT_TABLES.map((table) => this.#schemaOf(table));
    // All copies before the first drop: a page that this very transaction frees keeps its bytes when it is used again.
    for (const table of CONTENT_TABLES)
      this.#sql.exec(`CREATE TABLE ${FILLER}_${table} AS SELECT * FROM ${table}`);
    for (const table of CONTENT_TABLES) this.#sql.exec(`DROP TABLE ${table}`);
    this.#createFiller();
    this.#fill(target);
    for (const [index, table] of CONTENT_TABLES.entries()) {
      this.#sql.exec(schemas[index] ?? "");
      this.#sql.exec(`INSERT INTO ${table} SELECT * FROM ${FILLER}_${table}`);
      this.#sql.exec(`DROP TABLE ${FILLER}_${table}`);
    }
  }

  async #fillInSteps(target: number): Promise<void> {
    this.#createFiller();
    for (let filled = 0; filled < target; filled += LOG_BYTES) {
      this.#fill(LOG_BYTES);
      await this.#flush();
    }
  }

  #createFiller(): void {
    this.#sql.exec(`CREATE TABLE ${FILLER} (content BLOB NOT NULL)`);
  }

  #fill(bytes: number): void {
    for (let filled = 0; filled < bytes; filled += ROW_BYTES)
      this.#sql.exec(`INSERT INTO ${FILLER} (content) VALUES (zeroblob(?))`, ROW_BYTES);
  }

  #liveBytes(): number {
    const [row] = this.#sql.exec(
      `SELECT (SELECT coalesce(sum(length(header) + coalesce(length(payload), 0)), 0) FROM events)
        + (SELECT coalesce(sum(bytes), 0) FROM blobs) AS bytes`,
    );
    return Number(row?.["bytes"] ?? 0);
  }

  #schemaOf(table: string): string {
    const [row] = this.#sql.exec("SELECT sql FROM sqlite_master WHERE name = ?", table);
    const sql = row?.["sql"];
    invariant(typeof sql === "string", `table ${table} exists`);
    return sql;
  }
}
