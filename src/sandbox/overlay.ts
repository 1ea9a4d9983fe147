/**
 * Overlay: the WorkspaceSession of one effect. Reads fall through to the committed files; writes and deletes stay here
 * until the gate takes `changes()` at the outcome, or drops them (T6, S4). No I/O of its own.
 *
 * T7 paths are checked on every write. T8 a refused write leaves the overlay as it was.
 */
import type { Clock } from "#ports/clock.ts";
import type { Hasher } from "#ports/hasher.ts";
import type {
  FileChange,
  FileStat,
  ReadRange,
  WorkspaceLimits,
  WorkspaceReader,
  WorkspaceSession,
} from "#ports/workspace.ts";
import { parseWorkspacePath, requireWorkspacePath } from "./workspace-paths.ts";
import {
  changeUsage,
  requireFileSize,
  requireUsage,
  type WorkspaceUsage,
} from "./workspace-quota.ts";

export interface OverlayOptions {
  readonly base: WorkspaceReader;
  readonly limits: WorkspaceLimits;
  readonly hasher: Hasher;
  readonly clock: Clock;
}

interface Staged {
  /** Null: deleted. */
  readonly content: Uint8Array | null;
  stat: FileStat | null;
}

export class Overlay implements WorkspaceSession {
  readonly #options: OverlayOptions;
  readonly #staged = new Map<string, Staged>();
  #usage: WorkspaceUsage | null = null;

  constructor(options: OverlayOptions) {
    this.#options = options;
  }

  list(prefix = ""): readonly FileStat[] {
    const committed = this.#options.base
      .list(prefix)
      .filter((stat) => !this.#staged.has(stat.path));
    const staged = [...this.#staged.keys()]
      .filter((path) => path.startsWith(prefix))
      .map((path) => this.stat(path));
    return [...committed, ...staged.filter((stat) => stat !== null)].toSorted((a, b) =>
      a.path < b.path ? -1 : 1,
    );
  }

  stat(path: string): FileStat | null {
    const staged = this.#staged.get(path);
    if (staged === undefined)
      return parseWorkspacePath(path).ok ? this.#options.base.stat(path) : null;
    if (staged.content === null) return null;
    // The digest is made when somebody asks, because most staged files are only ever committed.
    staged.stat ??= {
      path,
      bytes: staged.content.length,
      digest: this.#options.hasher.sha256(staged.content),
      updatedAt: this.#options.clock.now(),
    };
    return staged.stat;
  }

  read(path: string, range: ReadRange = {}): Uint8Array | null {
    const staged = this.#staged.get(path);
    if (staged === undefined)
      return parseWorkspacePath(path).ok ? this.#options.base.read(path, range) : null;
    const { offset = 0, limit = Infinity } = range;
    return staged.content?.slice(offset, offset + limit) ?? null;
  }

  write(path: string, content: Uint8Array): void {
    requireWorkspacePath(path);
    requireFileSize(path, content.length, this.#options.limits);
    const before = this.#currentUsage();
    const after = changeUsage(before, this.#size(path), content.length);
    requireUsage(before, after, this.#options.limits);
    this.#usage = after;
    // A copy, so that a caller that reuses its buffer cannot change what will be committed.
    this.#stage(path, content.slice());
  }

  delete(path: string): boolean {
    const size = this.#size(path);
    if (size === null) return false;
    this.#usage = changeUsage(this.#currentUsage(), size, null);
    if (this.#options.base.stat(path) === null) this.#staged.delete(path);
    else this.#stage(path, null);
    return true;
  }

  changes(): readonly FileChange[] {
    return [...this.#staged].map(([path, { content }]): FileChange =>
      content === null ? { type: "delete", path } : { type: "write", path, content },
    );
  }

  #stage(path: string, content: Uint8Array | null): void {
    this.#staged.delete(path);
    this.#staged.set(path, { content, stat: null });
  }

  #size(path: string): number | null {
    const staged = this.#staged.get(path);
    if (staged !== undefined) return staged.content?.length ?? null;
    return parseWorkspacePath(path).ok ? (this.#options.base.stat(path)?.bytes ?? null) : null;
  }

  #currentUsage(): WorkspaceUsage {
    this.#usage ??= this.#options.base
      .list()
      .reduce((usage, stat) => changeUsage(usage, null, stat.bytes), { files: 0, bytes: 0 });
    return this.#usage;
  }
}
