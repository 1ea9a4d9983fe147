/**
 * EventPages: stored events by pages, for readers of a stream that are too far behind for the newest ones in memory.
 *
 * Full pages are kept for a moment, because readers that are behind are mostly behind at the same place: a hundred of them
 * read each page once. Bounded by count and by the bytes of its payloads. What erasure and pruning take away is forgotten (S4).
 */
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { EventLog } from "#ports/event-log.ts";

const PAGE = 100;
const MAX_PAGES = 32;
const MAX_BYTES = 4 * 1024 * 1024;

interface Page {
  readonly events: readonly ThreadEvent[];
  readonly bytes: number;
}

export class EventPages {
  readonly #log: Pick<EventLog<ThreadEvents>, "read">;
  /** Least recently read first. */
  readonly #pages = new Map<number, Page>();
  #bytes = 0;

  constructor(log: Pick<EventLog<ThreadEvents>, "read">) {
    this.#log = log;
  }

  /** Some events behind `seq`, in order and without a gap; none at the head. */
  after(seq: number): readonly ThreadEvent[] {
    const index = Math.floor(seq / PAGE);
    const kept = this.#pages.get(index);
    if (kept !== undefined) {
      this.#pages.delete(index);
      this.#pages.set(index, kept);
      return kept.events.slice(seq - index * PAGE);
    }
    const from = index * PAGE + 1;
    const events = this.#log.read({ from, to: from + PAGE - 1, limit: PAGE });
    // Where a log was pruned its first page has lost its beginning, or all of it.
    if (events[0]?.header.seq !== from) return this.#log.read({ from: seq + 1, limit: PAGE });
    // At the head a page grows still.
    if (events.length === PAGE) this.#keep(index, events);
    return events.slice(seq - index * PAGE);
  }

  forget(): void {
    this.#pages.clear();
    this.#bytes = 0;
  }

  #keep(index: number, events: readonly ThreadEvent[]): void {
    const bytes = events.reduce((sum, { header }) => sum + header.payload.bytes, 0);
    if (bytes > MAX_BYTES) return;
    this.#pages.set(index, { events, bytes });
    this.#bytes += bytes;
    for (const [oldest, page] of this.#pages) {
      if (this.#pages.size <= MAX_PAGES && this.#bytes <= MAX_BYTES) return;
      this.#pages.delete(oldest);
      this.#bytes -= page.bytes;
    }
  }
}
