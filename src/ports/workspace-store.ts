/**
 * WorkspaceStore: the committed files of one thread, and the way staged changes become part of its log.
 *
 * The files table is a projection of `file.written` and `file.deleted`, so `commit` never writes it: it stores the
 * content and answers the payloads of the events to append. Caller's order, in ONE transaction with the outcome (T6):
 * `store.commit(session.changes())`, then append the outcome and one event per answered change.
 */
import type {
  FileChange,
  WorkspaceLimits,
  WorkspaceReader,
  WorkspaceSession,
} from "./workspace.ts";

export const DEFAULT_WORKSPACE_LIMITS: WorkspaceLimits = {
  maxFileBytes: 32 * 1024 * 1024,
  maxTotalBytes: 256 * 1024 * 1024,
  maxFiles: 2_000,
};

/** Payload of the event of the same name (`written` is `file.written`), less its `type`. */
export type CommittedChange =
  | {
      readonly type: "written";
      readonly path: string;
      readonly digest: string;
      readonly bytes: number;
    }
  | { readonly type: "deleted"; readonly path: string };

export interface WorkspaceStore {
  /** Committed files only. */
  readonly reader: WorkspaceReader;
  /** A fresh overlay for one effect. Limits default to the store's own. */
  session(limits?: WorkspaceLimits): WorkspaceSession;
  /**
   * Stores the content and answers what to append, in the order of the changes. Checks quotas and paths again against
   * the files as they are now, because two effects may have staged side by side: throws AppError `workspace_full`,
   * `file_too_large` or `file_path_invalid`; the caller's transaction must then roll back.
   */
  commit(changes: readonly FileChange[]): readonly CommittedChange[];
}
