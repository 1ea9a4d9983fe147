/**
 * LogPruning: takes the beginning of a log away (L14). One transaction: the state at the new base, what the host wants to
 * forget with it, payloads in chunks, rows, base.
 */
import type { Fold, PruneReceipt } from "#ports/event-log.ts";
import { AppError } from "#shared/errors.ts";
import { readBase, writeBase } from "./log-base.ts";
import type { LogStore } from "./log-store.ts";
import type { SnapshotShelf } from "./snapshot-shelf.ts";

export interface PrunedLog<M> {
  readonly snapshots: SnapshotShelf;
  prunable(): number;
  foldTo<S>(fold: Fold<M, S>, upTo: number): S;
  dropPayloads(from: number, to: number): void;
}

export class LogPruning<M> {
  readonly #store: LogStore;
  readonly #log: PrunedLog<M>;

  constructor(store: LogStore, log: PrunedLog<M>) {
    this.#store = store;
    this.#log = log;
  }

  prune<S>(upTo: number, fold: Fold<M, S>, within: () => void): PruneReceipt {
    return this.#store.transaction(() => {
      const base = readBase(this.#store);
      if (upTo <= base.seq) return { pruned: 0, base };
      const [row] = this.#store.rows({ from: upTo, to: upTo, limit: 1, reverse: false });
      const prunable = this.#log.prunable();
      // An append finds the row before it, so the head stays whatever else goes.
      if (row === undefined || upTo >= this.#store.head().seq || upTo > prunable) {
        const detail = { upTo, prunable };
        throw new AppError("conflict", `nothing may be pruned up to ${upTo}`, { detail });
      }
      const state = this.#log.foldTo(fold, upTo);
      within();
      this.#log.dropPayloads(base.seq + 1, upTo);
      this.#store.deleteRows(upTo);
      const next = { seq: upTo, hash: row.hash };
      writeBase(this.#store, next);
      this.#log.snapshots.save(fold, state, upTo);
      return { pruned: upTo - base.seq, base: next };
    });
  }
}
