/** A workspace in memory, for tests of what works on a WorkspaceSession: the real overlay over a map of files. */
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import type { WorkspaceLimits, WorkspaceReader, WorkspaceSession } from "#ports/workspace.ts";
import { DEFAULT_WORKSPACE_LIMITS } from "#ports/workspace-store.ts";
import { Overlay } from "#sandbox/overlay.ts";

export const nodeSha256 = new NodeHasher();

const ENCODER = new TextEncoder();

export function memoryReader(
  files: Readonly<Record<string, string | Uint8Array>> = {},
): WorkspaceReader {
  const contents = new Map(
    Object.entries(files).map(([path, content]) => [
      path,
      typeof content === "string" ? ENCODER.encode(content) : content,
    ]),
  );
  const stat: WorkspaceReader["stat"] = (path) => {
    const content = contents.get(path);
    return content === undefined
      ? null
      : { path, bytes: content.length, digest: nodeSha256.sha256(content), updatedAt: 0 };
  };
  return {
    stat,
    list: (prefix = "") =>
      [...contents.keys()]
        .filter((path) => path.startsWith(prefix))
        .toSorted()
        .flatMap((path) => stat(path) ?? []),
    read: (path, { offset = 0, limit = Infinity } = {}) =>
      contents.get(path)?.slice(offset, offset + limit) ?? null,
  };
}

export function memoryFiles(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  limits: WorkspaceLimits = DEFAULT_WORKSPACE_LIMITS,
): WorkspaceSession {
  return new Overlay({
    base: memoryReader(files),
    limits,
    hasher: nodeSha256,
    clock: { now: () => 0 },
  });
}

export function textOf(session: WorkspaceReader, path: string): string | null {
  const content = session.read(path);
  return content === null ? null : new TextDecoder().decode(content);
}
