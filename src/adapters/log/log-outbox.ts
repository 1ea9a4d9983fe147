/**
 * LogOutbox: named cursors over the log (rule L10). Deliver, then advance: a crash between the two delivers again.
 *
 * A consumer that fails keeps its cursor and does not hold up the others; its failure is thrown once all had their turn.
 * Consumers at the same place of the log share one reading of it, because rows read are paid for.
 */
import type { OutboxConsumer, OutboxCursor, StoredEvent } from "#ports/event-log.ts";
import type { LogStore } from "./log-store.ts";

export interface OutboxSource<M> {
  headSeq(): number;
  read(from: number, limit: number): readonly StoredEvent<M>[];
}

interface Slice<M> {
  readonly from: number;
  readonly limit: number;
  readonly events: readonly StoredEvent<M>[];
}

export class LogOutbox<M> {
  readonly #store: LogStore;
  readonly #source: OutboxSource<M>;
  /** Names in delivery: a second drain would deliver the same events out of turn. */
  readonly #busy = new Set<string>();
  #slice: Slice<M> | null = null;

  constructor(store: LogStore, source: OutboxSource<M>) {
    this.#store = store;
    this.#source = source;
  }

  /** The last seq that every required cursor has passed; the head when none is required. */
  prunable(): number {
    const required = this.#store.cursors().filter((cursor) => cursor.required);
    return required.reduce((least, cursor) => Math.min(least, cursor.seq), this.#source.headSeq());
  }

  async drain(consumers: readonly OutboxConsumer<M>[], limit: number): Promise<boolean> {
    const failures: unknown[] = [];
    let lagging = false;
    for (const consumer of consumers) {
      try {
        lagging = (await this.#serve(consumer, limit)) || lagging;
      } catch (error) {
        failures.push(error);
      }
    }
    this.forget();
    if (failures.length > 0) throw failures[0];
    return lagging;
  }

  /** What was read may be gone from the log: an erasure between two consumers reaches the second (H31). */
  forget(): void {
    this.#slice = null;
  }

  #read(from: number, limit: number): readonly StoredEvent<M>[] {
    if (this.#slice?.from !== from || this.#slice.limit !== limit)
      this.#slice = { from, limit, events: this.#source.read(from, limit) };
    return this.#slice.events;
  }

  async #serve(consumer: OutboxConsumer<M>, limit: number): Promise<boolean> {
    if (this.#busy.has(consumer.name)) return true;
    this.#busy.add(consumer.name);
    try {
      const cursor = this.#cursor(consumer);
      const events = this.#read(cursor.seq + 1, limit);
      const last = events.at(-1);
      if (last === undefined) return false;
      const { types } = consumer;
      const wanted =
        types === undefined ? events : events.filter((event) => types.includes(event.type));
      if (wanted.length > 0) await consumer.deliver(wanted);
      this.#store.setCursor({ ...cursor, seq: last.header.seq });
      return last.header.seq < this.#source.headSeq();
    } finally {
      this.#busy.delete(consumer.name);
    }
  }

  /** Created at the consumer's first drain, so that pruning waits for it before it has delivered anything. */
  #cursor(consumer: OutboxConsumer<M>): OutboxCursor {
    const { name, required } = consumer;
    const stored = this.#store.cursors().find((cursor) => cursor.name === name);
    if (stored !== undefined && stored.required === required) return stored;
    const cursor = { name, required, seq: stored?.seq ?? 0 };
    this.#store.setCursor(cursor);
    return cursor;
  }
}
