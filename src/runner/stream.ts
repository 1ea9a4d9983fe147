/**
 * Stream: durable events and live text of one thread as frames, from any cursor (P2, P3).
 *
 * Invariants:
 * S1 A subscription is a cursor and nothing else: it pulls from the log and the live text, so a slow reader holds no
 *    buffer, costs others nothing, and sees what it missed as larger deltas. Readers that are behind share their pages.
 * S2 The deltas of an attempt that a reader followed live add up to the answer's text exactly: what an outcome overtook
 *    is sent before the outcome's own frame.
 * S3 A higher attempt is announced by one `discard` right after its `model.requested`.
 * S4 Frames are cut from events and text that are already recorded; nothing here is a source of truth.
 */
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { StreamCursor, StreamFrame } from "#ports/thread-gateway.ts";
import type { Json } from "#shared/json.ts";
import { EventPages } from "./event-pages.ts";
import { Latch } from "./latch.ts";
import { isModelOutcome, type LiveText } from "./live-text.ts";

const PAGE = 100;
/** Newest events, kept so that live readers do not each read them from the log again. */
const RING = 128;

export interface StreamOptions {
  readonly from: StreamCursor;
  /** False: durable events only. */
  readonly deltas: boolean;
}
export interface StreamSubscription extends AsyncIterable<StreamFrame> {
  /** The frames that are there, again each time that there are some: taken without a wait between them, and only as taken. */
  batches(): AsyncGenerator<Iterable<StreamFrame>, void, undefined>;
  /** Ends the iteration; idempotent. */
  close(): void;
}

export class StreamHub {
  readonly #log: Pick<EventLog<ThreadEvents>, "read" | "head" | "get">;
  readonly live: LiveText;
  readonly #subscribers = new Set<Subscription>();
  readonly #pages: EventPages;
  #ring: ThreadEvent[] = [];

  constructor(log: Pick<EventLog<ThreadEvents>, "read" | "head" | "get">, live: LiveText) {
    this.#log = log;
    this.#pages = new EventPages(log);
    this.live = live;
  }

  subscribe(options: StreamOptions): StreamSubscription {
    const subscription = new Subscription(this, options, () =>
      this.#subscribers.delete(subscription),
    );
    this.#subscribers.add(subscription);
    return subscription;
  }

  /** After an append is durable. */
  appended(events: readonly ThreadEvent[]): void {
    for (const event of events) this.live.follow(event);
    this.#ring.push(...events);
    if (this.#ring.length > RING * 2) this.#ring = this.#ring.slice(-RING);
    this.#wake();
  }

  delta(intentId: string, text: string): void {
    if (this.live.add(intentId, text)) this.#wake();
  }

  /** After an erasure: events are read from the log again. */
  forget(): void {
    this.#ring = [];
    this.#pages.forget();
  }

  close(): void {
    this.live.close();
    for (const subscription of this.#subscribers) subscription.close();
  }

  eventsAfter(seq: number): readonly ThreadEvent[] {
    const first = this.#ring[0];
    if (first !== undefined && first.header.seq <= seq + 1)
      return this.#ring.slice(seq + 1 - first.header.seq, seq + 1 - first.header.seq + PAGE);
    return this.#pages.after(seq);
  }

  eventAt(seq: number): ThreadEvent | null {
    return seq < 1 || seq > this.#log.head().seq ? null : this.#log.get(seq);
  }

  #wake(): void {
    for (const subscription of this.#subscribers) subscription.wake();
  }
}

class Subscription implements StreamSubscription {
  readonly #hub: StreamHub;
  readonly #deltas: boolean;
  readonly #latch = new Latch();
  readonly #ended: () => void;
  #cursor: StreamCursor;
  #caughtUp = false;
  #closed = false;

  constructor(hub: StreamHub, options: StreamOptions, ended: () => void) {
    this.#hub = hub;
    this.#deltas = options.deltas;
    this.#cursor = options.from;
    this.#ended = ended;
  }

  wake(): void {
    this.#latch.notify();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ended();
    this.#latch.notify();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamFrame, void, undefined> {
    for await (const batch of this.batches()) yield* batch;
  }

  async *batches(): AsyncGenerator<Iterable<StreamFrame>, void, undefined> {
    try {
      yield this.#missedDiscard();
      while (!this.#closed) {
        yield this.#present();
        await this.#latch.wait();
      }
    } finally {
      this.close();
    }
  }

  *#present(): Generator<StreamFrame> {
    yield* this.#durable();
    yield* this.#liveText();
    if (this.#caughtUp) return;
    this.#caughtUp = true;
    yield { type: "caught_up", cursor: this.#cursor };
    yield* this.#durable();
    yield* this.#liveText();
  }

  /** The reader left between a `model.requested` and the `discard` that follows it. */
  *#missedDiscard(): Generator<StreamFrame> {
    if (this.#cursor.attempt !== 0) return;
    const event = this.#hub.eventAt(this.#cursor.seq);
    if (event?.type === "model.requested") yield* this.#discard(event);
  }

  *#durable(): Generator<StreamFrame> {
    for (;;) {
      const events = this.#hub.eventsAfter(this.#cursor.seq);
      if (events.length === 0) return;
      for (const event of events) {
        if (this.#closed) return;
        yield* this.#remainder(event);
        this.#cursor = this.#after(event);
        yield {
          type: "event",
          cursor: this.#cursor,
          event: { header: event.header, hash: event.hash, payload: event.payload as Json },
        };
        if (event.type === "model.requested") yield* this.#discard(event);
      }
    }
  }

  /** Events beside an open attempt leave the place in its text as it is. */
  #after(event: ThreadEvent): StreamCursor {
    const { seq } = event.header;
    const ends = event.type === "model.requested" || isModelOutcome(event);
    return ends ? { seq, attempt: 0, offset: 0 } : { ...this.#cursor, seq };
  }

  *#discard(event: ThreadEvent): Generator<StreamFrame> {
    const { run, step, attempt } = event.header;
    if (!this.#deltas || attempt === null || attempt < 2) return;
    this.#cursor = { ...this.#cursor, attempt, offset: 0 };
    yield { type: "discard", cursor: this.#cursor, runId: run ?? "", step: step ?? 0, attempt };
  }

  *#remainder(event: ThreadEvent): Generator<StreamFrame> {
    if (!this.#deltas || event.type !== "model.answered" || event.payload === null) return;
    const { run, step, attempt } = event.header;
    const { seq, offset } = this.#cursor;
    const following = this.#caughtUp || this.#cursor.attempt === attempt;
    const text = event.payload.parts
      .map((part) => (part.type === "text" ? part.text : ""))
      .join("");
    if (!following || attempt === null || text.length <= offset) return;
    this.#cursor = { seq, attempt, offset: text.length };
    yield {
      type: "delta",
      cursor: this.#cursor,
      runId: run ?? "",
      step: step ?? 0,
      text: text.slice(offset),
    };
  }

  *#liveText(): Generator<StreamFrame> {
    const { open, text } = this.#hub.live;
    if (!this.#deltas || open === null || open.seq > this.#cursor.seq) return;
    const offset = this.#cursor.attempt === open.attempt ? this.#cursor.offset : 0;
    if (text.length <= offset) return;
    this.#cursor = { seq: this.#cursor.seq, attempt: open.attempt, offset: text.length };
    yield {
      type: "delta",
      cursor: this.#cursor,
      runId: open.runId,
      step: open.step,
      text: text.slice(offset),
    };
  }
}
