/** Quotas of a workspace (T8): a write that would exceed one is refused before anything is staged or stored. Pure. */
import { AppError } from "#shared/errors.ts";
import type { WorkspaceLimits } from "#ports/workspace.ts";

export interface WorkspaceUsage {
  readonly files: number;
  readonly bytes: number;
}

/** What one file's change from `before` to `after` bytes makes of the usage; null is absent. */
export function changeUsage(
  usage: WorkspaceUsage,
  before: number | null,
  after: number | null,
): WorkspaceUsage {
  return {
    files: usage.files + (after === null ? 0 : 1) - (before === null ? 0 : 1),
    bytes: usage.bytes + (after ?? 0) - (before ?? 0),
  };
}

/** Throws AppError `file_too_large`. */
export function requireFileSize(path: string, bytes: number, limits: WorkspaceLimits): void {
  if (bytes <= limits.maxFileBytes) return;
  throw new AppError(
    "file_too_large",
    `${path} would have ${bytes} bytes; a file has at most ${limits.maxFileBytes}`,
    {
      kind: "exhausted",
      detail: { path, bytes, limit: limits.maxFileBytes },
    },
  );
}

/** Throws AppError `workspace_full` when usage grew past a limit. One that shrinks is let through, even above it. */
export function requireUsage(
  before: WorkspaceUsage,
  after: WorkspaceUsage,
  limits: WorkspaceLimits,
): void {
  if (after.files > limits.maxFiles && after.files > before.files) {
    throw full(`the workspace holds at most ${limits.maxFiles} files; delete some first`, {
      files: after.files,
      limit: limits.maxFiles,
    });
  }
  if (after.bytes > limits.maxTotalBytes && after.bytes > before.bytes) {
    throw full(
      `the workspace would hold ${after.bytes} bytes; it holds at most ${limits.maxTotalBytes}`,
      {
        bytes: after.bytes,
        limit: limits.maxTotalBytes,
      },
    );
  }
}

function full(message: string, detail: { readonly [key: string]: number }): AppError {
  return new AppError("workspace_full", message, { kind: "exhausted", detail });
}
