/**
 * LogProjections: the projections of one log and which version of each stands (rule L12).
 *
 * Applied in the transaction of the append. One whose version changed is reset and fed the whole log at open, in one
 * transaction, so it is never seen half rebuilt.
 */
import type { Projection, StoredEvent } from "#ports/event-log.ts";
import type { LogStore } from "./log-store.ts";

/** Calls back with each stored event, in order and in bounded slices. */
export type EventWalk<M> = (visit: (event: StoredEvent<M>) => void) => void;

export class LogProjections<M> {
  readonly #store: LogStore;
  readonly #projections: readonly Projection<M>[];

  constructor(store: LogStore, projections: readonly Projection<M>[]) {
    this.#store = store;
    this.#projections = projections;
  }

  apply(events: readonly StoredEvent<M>[]): void {
    for (const projection of this.#projections) {
      for (const event of events) projection.apply(event);
    }
  }

  /** Rebuilds what is not at its version. */
  refresh(base: number, walk: EventWalk<M>): void {
    for (const projection of this.#projections) {
      if (this.#isCurrent(projection)) continue;
      this.#store.transaction(() => {
        projection.reset(base);
        walk((event) => projection.apply(event));
        this.#store.setMeta(toKey(projection), String(projection.version));
      });
    }
  }

  /** For a new log, whose projections are current because there is nothing to project. */
  markCurrent(): void {
    for (const projection of this.#projections) {
      if (!this.#isCurrent(projection)) {
        this.#store.setMeta(toKey(projection), String(projection.version));
      }
    }
  }

  #isCurrent(projection: Projection<M>): boolean {
    return this.#store.meta(toKey(projection)) === String(projection.version);
  }
}

function toKey<M>(projection: Projection<M>): string {
  return `projection:${projection.name}`;
}
