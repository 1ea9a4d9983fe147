/**
 * FilesProjection: the files of a thread as the log has them, one row a path, in table `files`.
 *
 * Holds names and content addresses only. Content lies in the blob store under its SHA-256 and stays there when a file
 * is deleted or replaced, so that a fork or an older position of the log still finds it.
 */
import type { ThreadEvents } from "#kernel/events.ts";
import type { Projection, StoredEvent } from "#ports/event-log.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export class FilesProjection implements Projection<ThreadEvents> {
  readonly name = "files";
  readonly version = 1;
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  reset(base: number): void {
    this.#sql.exec("DELETE FROM files WHERE seq > ?", base);
  }

  apply(event: StoredEvent<ThreadEvents>): void {
    if (event.payload === null) return;
    if (event.type === "file.written") {
      const { path, digest, bytes } = event.payload;
      this.#sql.exec(
        `INSERT INTO files (path, digest, bytes, updated_at, seq) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (path) DO UPDATE SET digest = excluded.digest, bytes = excluded.bytes, updated_at = excluded.updated_at, seq = excluded.seq`,
        path,
        digest,
        bytes,
        event.header.at,
        event.header.seq,
      );
    } else if (event.type === "file.deleted") {
      this.#sql.exec("DELETE FROM files WHERE path = ?", event.payload.path);
    }
  }
}
