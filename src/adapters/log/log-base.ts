/**
 * LogBase: where a pruned log begins. Meta `base` is JSON of the last pruned event's seq and hash; a whole log has none.
 */
import type { LogHead } from "#ports/event-log.ts";
import type { LogStore } from "./log-store.ts";

export const GENESIS: LogHead = { seq: 0, hash: "0".repeat(64) };

export function readBase(store: Pick<LogStore, "meta">): LogHead {
  const stored = store.meta("base");
  // Written by `writeBase`.
  return stored === null ? GENESIS : (JSON.parse(stored) as LogHead);
}

export function writeBase(store: Pick<LogStore, "setMeta">, { seq, hash }: LogHead): void {
  store.setMeta("base", JSON.stringify({ seq, hash }));
}
