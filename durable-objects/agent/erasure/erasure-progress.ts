/**
 * ErasureProgress: how far the erasure under way has come, in meta `erasure:<id>`, so that a process that dies in the middle
 * neither counts twice nor forgets what it counted. Deleted with the erasure's completion.
 */
import type { ErasedStore } from "#kernel/events.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";

export interface ErasureProgress {
  readonly stores: readonly ErasedStore[];
  /** Stores that are finished. */
  readonly done: readonly string[];
  /** Set once freed space was wiped. */
  readonly wiped: "rewritten" | "overwritten" | null;
}

const NOTHING: ErasureProgress = { stores: [], done: [], wiped: null };

export function readProgress({ storage }: ThreadHost, erasureId: string): ErasureProgress {
  const [row] = storage.database.exec("SELECT value FROM meta WHERE key = ?", keyOf(erasureId));
  // Written by `writeProgress`, under a prefix nothing else uses.
  return row === undefined ? NOTHING : (JSON.parse(String(row["value"])) as ErasureProgress);
}

export function writeProgress(
  { storage }: ThreadHost,
  erasureId: string,
  progress: ErasureProgress,
): void {
  storage.database.exec(
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    keyOf(erasureId),
    JSON.stringify(progress),
  );
}

export function dropProgress({ storage }: ThreadHost, erasureId: string): void {
  storage.database.exec("DELETE FROM meta WHERE key = ?", keyOf(erasureId));
}

/** Adds to the counts of `progress`. */
export function counted(
  progress: ErasureProgress,
  stores: readonly ErasedStore[],
): ErasureProgress {
  const counts = new Map(progress.stores.map(({ store, count }) => [store, count]));
  for (const { store, count } of stores) counts.set(store, (counts.get(store) ?? 0) + count);
  return { ...progress, stores: [...counts].map(([store, count]) => ({ store, count })) };
}

export function finished(progress: ErasureProgress, store: string): ErasureProgress {
  return { ...progress, done: [...progress.done, store] };
}

function keyOf(erasureId: string): string {
  return `erasure:${erasureId}`;
}
