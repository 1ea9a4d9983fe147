/** StreamBlocks in table `stream_blocks` of the object's SQLite: one row a block, gone with its outcome (P3). */
import type { SqlDatabase } from "#ports/sql.ts";
import type { StreamBlock, StreamBlocks } from "#ports/stream-blocks.ts";

export class SqliteStreamBlocks implements StreamBlocks {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  append(block: StreamBlock): void {
    this.#sql.exec(
      "INSERT INTO stream_blocks (seq, attempt, idx, text) VALUES (?, ?, ?, ?)",
      block.seq,
      block.attempt,
      block.idx,
      block.text,
    );
  }

  read(seq: number): readonly StreamBlock[] {
    return this.#sql
      .exec(
        "SELECT seq, attempt, idx, text FROM stream_blocks WHERE seq = ? ORDER BY attempt, idx",
        seq,
      )
      .map((row) => ({
        seq,
        attempt: Number(row["attempt"]),
        idx: Number(row["idx"]),
        text: String(row["text"]),
      }));
  }

  delete(seq: number): void {
    this.#sql.exec("DELETE FROM stream_blocks WHERE seq = ?", seq);
  }
}
