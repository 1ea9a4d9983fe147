/**
 * ThreadContent: what a thread's object holds of content beside its log, by store, and the way to forget it.
 *
 * docs/storage.md marks these places. Everything joins the caller's transaction, so that counts and deletions agree.
 */
import type { ErasedStore } from "#kernel/events.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export interface ContentScope {
  /** Null: everything of the thread. */
  readonly runId: string | null;
}

/** Content of files lies under its plain digest; addresses of the log have a prefix. */
const FILE_CONTENT = "address NOT LIKE 'blob:%' AND address NOT LIKE 'snapshot:%'";

export class ThreadContent {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  erase(scope: ContentScope): readonly ErasedStore[] {
    return this.#sql.transaction(() =>
      scope.runId === null ? this.#eraseThread() : this.#eraseRun(scope.runId),
    );
  }

  /** Bytes that events ever held: at least what erasing them frees. */
  bytesEverHeld(): number {
    const [row] = this.#sql.exec(
      "SELECT coalesce(sum(json_extract(header, '$.payload.bytes')), 0) AS bytes FROM events",
    );
    return Number(row?.["bytes"] ?? 0);
  }

  snapshots(): number {
    return this.#count("FROM snapshots");
  }

  chunksOf(address: string): number {
    return this.#count("FROM blob_chunks WHERE address = ?", address);
  }

  #eraseThread(): readonly ErasedStore[] {
    return [
      this.#store("stream_blocks", "FROM stream_blocks"),
      this.#store("files", "FROM files"),
      this.#fileContent(),
      this.#messages("message IS NOT NULL"),
      this.#store("commands", "FROM commands"),
      this.#store("tickets", "FROM meta WHERE key LIKE 'ticket:%'"),
      this.#store("push_configs", "FROM meta WHERE key LIKE 'push:%' OR key LIKE 'pushed:%'"),
    ];
  }

  /** Files are the host's to forget one by one: each by the event that wrote it. */
  #eraseRun(runId: string): readonly ErasedStore[] {
    return [
      this.#messages("message IS NOT NULL AND run_id = ?", runId),
      this.#store("commands", "FROM commands WHERE json_extract(receipt, '$.runId') = ?", runId),
      this.#store(
        "push_configs",
        "FROM meta WHERE key GLOB ? OR key GLOB ?",
        `push:${runId}:*`,
        `pushed:${runId}:*`,
      ),
    ];
  }

  #fileContent(): ErasedStore {
    const count = this.#count(`FROM blobs WHERE ${FILE_CONTENT}`);
    this.#sql.exec(`DELETE FROM blob_chunks WHERE ${FILE_CONTENT}`);
    this.#sql.exec(`DELETE FROM blobs WHERE ${FILE_CONTENT}`);
    return { store: "file_content", count };
  }

  #messages(where: string, ...params: readonly string[]): ErasedStore {
    const count = this.#count(`FROM runs WHERE ${where}`, ...params);
    this.#sql.exec(`UPDATE runs SET message = NULL WHERE ${where}`, ...params);
    return { store: "run_messages", count };
  }

  #store(store: string, from: string, ...params: readonly string[]): ErasedStore {
    const count = this.#count(from, ...params);
    if (count > 0) this.#sql.exec(`DELETE ${from}`, ...params);
    return { store, count };
  }

  #count(from: string, ...params: readonly string[]): number {
    const [row] = this.#sql.exec(`SELECT count(*) AS n ${from}`, ...params);
    return Number(row?.["n"] ?? 0);
  }
}
