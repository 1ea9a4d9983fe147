/**
 * Workspace: the files of one thread, a projection of `file.written` and `file.deleted`.
 *
 * Reads see the committed files plus what this session staged. Writes are staged and commit with the outcome of the
 * effect that made them, in one transaction (rule T6), so files fork, crash and replay with the log.
 * Everything is synchronous: content lies in the object's own SQLite in content-addressed chunks.
 */
export interface FileStat {
  /** Normalised, relative, `/`-separated; no `.`/`..` segments, no leading slash, at most 512 bytes of UTF-8. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of the content, lower-case hex. */
  readonly digest: string;
  readonly updatedAt: number;
}
export interface ReadRange {
  /** First byte, default 0. */
  readonly offset?: number;
  /** Most bytes to return, default all. */
  readonly limit?: number;
}
export type FileChange =
  | { readonly type: "write"; readonly path: string; readonly content: Uint8Array }
  | { readonly type: "delete"; readonly path: string };

export interface WorkspaceReader {
  list(prefix?: string): readonly FileStat[];
  stat(path: string): FileStat | null;
  /** Null when there is no such file. Reads only the chunks that the range touches. */
  read(path: string, range?: ReadRange): Uint8Array | null;
}

/** What a tool or sandbox execution works on: an overlay whose changes are taken by the gate at the outcome. */
export interface WorkspaceSession extends WorkspaceReader {
  /** Throws AppError `file_path_invalid`, `file_too_large` or `workspace_full`; then nothing is staged. */
  write(path: string, content: Uint8Array): void;
  /** False when there was no such file. */
  delete(path: string): boolean;
  changes(): readonly FileChange[];
}
export interface WorkspaceLimits {
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxFiles: number;
}
