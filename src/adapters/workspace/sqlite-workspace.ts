/**
 * SqliteWorkspace: the WorkspaceStore over the files projection and the blob store of the same object.
 *
 * Reads only the projection; writes only blobs. The rows change when the events that `commit` answers are appended, so
 * files cannot disagree with the log (T6). Each blob's address is the SHA-256 of its content.
 */
import { AppError } from "#shared/errors.ts";
import type { BlobStore } from "#ports/blob-store.ts";
import type { Clock } from "#ports/clock.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { SqlDatabase, SqlRow } from "#ports/sql.ts";
import type {
  FileChange,
  FileStat,
  ReadRange,
  WorkspaceLimits,
  WorkspaceReader,
  WorkspaceSession,
} from "#ports/workspace.ts";
import {
  DEFAULT_WORKSPACE_LIMITS,
  type CommittedChange,
  type WorkspaceStore,
} from "#ports/workspace-store.ts";
import { Overlay } from "#sandbox/overlay.ts";
import { requireWorkspacePath } from "#sandbox/workspace-paths.ts";
import { changeUsage, requireFileSize, requireUsage } from "#sandbox/workspace-quota.ts";

export interface SqliteWorkspaceOptions {
  readonly sql: SqlDatabase;
  readonly blobs: BlobStore;
  readonly hasher: Hasher;
  readonly clock: Clock;
  /** Default 32 MiB a file, 2,000 files, 256 MiB in all. */
  readonly limits?: WorkspaceLimits;
}

export class SqliteWorkspace implements WorkspaceStore {
  readonly reader: WorkspaceReader;
  readonly #options: SqliteWorkspaceOptions;
  readonly #limits: WorkspaceLimits;

  constructor(options: SqliteWorkspaceOptions) {
    this.#options = options;
    this.#limits = options.limits ?? DEFAULT_WORKSPACE_LIMITS;
    this.reader = new CommittedFiles(options.sql, options.blobs);
  }

  session(limits: WorkspaceLimits = this.#limits): WorkspaceSession {
    return new Overlay({
      base: this.reader,
      limits,
      hasher: this.#options.hasher,
      clock: this.#options.clock,
    });
  }

  commit(changes: readonly FileChange[]): readonly CommittedChange[] {
    this.#requireQuota(changes);
    return changes.flatMap((change): CommittedChange[] => {
      const { path } = change;
      if (change.type === "delete")
        return this.reader.stat(path) === null ? [] : [{ type: "deleted", path }];
      const digest = this.#options.hasher.sha256(change.content);
      this.#options.blobs.put(digest, change.content);
      return [{ type: "written", path, digest, bytes: change.content.length }];
    });
  }

  /**
   * After the event that wrote it was erased: no path leads to this content any more, and it is gone unless another
   * path still holds the same.
   */
  forget(path: string, digest: string): void {
    const { sql, blobs } = this.#options;
    sql.transaction(() => {
      sql.exec("DELETE FROM files WHERE path = ? AND digest = ?", path, digest);
      if (sql.exec("SELECT 1 FROM files WHERE digest = ? LIMIT 1", digest).length === 0)
        blobs.delete(digest);
    });
  }

  #requireQuota(changes: readonly FileChange[]): void {
    if (changes.length === 0) return;
    const before = this.reader
      .list()
      .reduce((usage, stat) => changeUsage(usage, null, stat.bytes), { files: 0, bytes: 0 });
    let after = before;
    for (const change of changes) {
      requireWorkspacePath(change.path);
      const size = change.type === "write" ? change.content.length : null;
      if (size !== null) requireFileSize(change.path, size, this.#limits);
      after = changeUsage(after, this.reader.stat(change.path)?.bytes ?? null, size);
    }
    requireUsage(before, after, this.#limits);
  }
}

class CommittedFiles implements WorkspaceReader {
  readonly #sql: SqlDatabase;
  readonly #blobs: BlobStore;

  constructor(sql: SqlDatabase, blobs: BlobStore) {
    this.#sql = sql;
    this.#blobs = blobs;
  }

  list(prefix = ""): readonly FileStat[] {
    return this.#sql
      .exec(
        "SELECT path, digest, bytes, updated_at FROM files WHERE substr(path, 1, length(?)) = ? ORDER BY path",
        prefix,
        prefix,
      )
      .map(toFileStat);
  }

  stat(path: string): FileStat | null {
    const [row] = this.#sql.exec(
      "SELECT path, digest, bytes, updated_at FROM files WHERE path = ?",
      path,
    );
    return row === undefined ? null : toFileStat(row);
  }

  read(path: string, range?: ReadRange): Uint8Array | null {
    const stat = this.stat(path);
    if (stat === null) return null;
    const content = this.#blobs.get(stat.digest, range);
    if (content === null) {
      throw new AppError("storage_failed", `the content of ${path} is not in this object`, {
        kind: "faulted",
        detail: { path },
      });
    }
    return content;
  }
}

/** A row of a table this system wrote; the columns are NOT NULL and typed by its schema. */
function toFileStat(row: SqlRow): FileStat {
  return {
    path: row["path"] as string,
    digest: row["digest"] as string,
    bytes: row["bytes"] as number,
    updatedAt: row["updated_at"] as number,
  };
}
