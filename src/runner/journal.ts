/**
 * Journal: the one line through which a thread's log grows, and the state folded from it.
 *
 * Invariants:
 * J1 State equals the fold of the log: an event that `evolve` refuses is rolled back with its whole append (K14).
 * J2 Bookkeeping the kernel asks for is part of the append that causes it: no crash can fall between an outcome and the
 *    records that follow from it, and a step costs fewer transactions.
 * J3 Once closed (crash, stale epoch, shutdown) nothing is appended.
 */
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { nextEffects } from "#kernel/next-effects.ts";
import type { Effect } from "#kernel/effects.ts";
import type { ThreadDraft, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import { withTotals } from "#kernel/run-totals.ts";
import { pinOf, routeOf, type ThreadState } from "#kernel/state.ts";
import type { Clock } from "#ports/clock.ts";
import type { EventLog, LogMode } from "#ports/event-log.ts";
import type { Prices, RoutePrice } from "#ports/prices.ts";
import { invariant } from "#shared/exhaustive.ts";
import { AppError } from "#shared/errors.ts";
import { completeRun } from "./complete-run.ts";

/** Records that follow from one append end after a few rounds; more means a kernel that never settles. */
const MAX_FOLLOW_UPS = 64;
const RECENT_EVENTS = 128;
/** A wake folds at most about this many events: a thread at rest opens fast, and a long run pays for few snapshots. */
const SNAPSHOT_AT_REST = 64;
const SNAPSHOT_IN_FLIGHT = 1_000;

export interface JournalDeps {
  readonly log: EventLog<ThreadEvents>;
  readonly clock: Clock;
  readonly prices: Prices;
  /** Runs `work` in one transaction of the database that the log lies in; nested calls join it. */
  transact<T>(work: () => T): T;
}
export type AppendListener = {
  /** In the transaction of the append. */
  readonly within: (events: readonly ThreadEvent[]) => void;
  /** After it is durable. */
  readonly appended: (events: readonly ThreadEvent[]) => void;
};

export class Journal {
  readonly #deps: JournalDeps;
  readonly #listener: AppendListener;
  readonly #recent = new Map<number, ThreadEvent>();
  #state: ThreadState;
  #seq: number;
  #snapshotSeq: number;
  #planned: Planned | null = null;
  #closed: string | null = null;
  #corrupt: LogMode | null = null;

  /** Folds from the newest snapshot. A log that cannot be folded, or not be written, is closed and stays readable. */
  constructor(deps: JournalDeps, listener: AppendListener) {
    this.#deps = deps;
    this.#listener = listener;
    const folded = this.#fold();
    this.#state = folded.state;
    this.#seq = folded.seq;
    this.#snapshotSeq = folded.seq;
    if (!this.mode.writable) this.close(this.mode.message);
  }

  /** Why nothing may be appended, in the words of the log. */
  get mode(): LogMode {
    return this.#corrupt ?? this.#deps.log.mode;
  }
  get state(): ThreadState {
    return this.#state;
  }
  /** Seq of the newest event. */
  get seq(): number {
    return this.#seq;
  }
  get closed(): string | null {
    return this.#closed;
  }
  close(reason: string): void {
    this.#closed ??= reason;
  }

  /** After an erasure: nothing of what is gone from the log stays in memory. */
  forget({ refold }: { readonly refold: boolean }): void {
    this.#recent.clear();
    this.#planned = null;
    if (!refold) return;
    const folded = this.#fold();
    this.#state = folded.state;
    this.#seq = folded.seq;
    this.#snapshotSeq = folded.seq;
    if (!this.mode.writable) this.close(this.mode.message);
  }

  /** What is due now. Of a state that no time changes, the answer found while it was appended is given again. */
  effects(): readonly Effect[] {
    const planned = this.#planned;
    const price = this.#priceOf(this.#state);
    const isCurrent = planned?.seq === this.#seq && planned.price === price;
    if (isCurrent && planned.effects.every(isTimeless)) return planned.effects;
    return this.#effectsOf(this.#state, price);
  }

  /** An event of this log, also one that is part of the append being prepared. Throws when there is none. */
  eventAt(seq: number): ThreadEvent {
    const event = this.#recent.get(seq) ?? this.#deps.log.get(seq);
    invariant(event !== null, `event ${seq} exists`);
    return event;
  }

  /** The event that closed an intent, among the newest; null when it lies further back. */
  recentOutcomeOf(intentId: string): ThreadEvent | null {
    const events = [...this.#recent.values()];
    return events.findLast(({ header }) => header.cause === intentId) ?? null;
  }

  /**
   * Appends what `build` answers and every record that follows from it. `build` runs inside the transaction, so what it
   * stores beside the log commits with the events or not at all; so does `within`, which sees what was stored.
   */
  append(
    build: () => readonly ThreadDraft[],
    within?: (events: readonly ThreadEvent[]) => void,
  ): readonly ThreadEvent[] {
    if (this.#closed !== null)
      throw new AppError("unavailable", `thread is closed: ${this.#closed}`, { retryable: true });
    const { events, state, effects, price } = this.#deps.transact(() => {
      const grown = this.#grow(build());
      this.#listener.within(grown.events);
      within?.(grown.events);
      return grown;
    });
    if (events.length === 0) return events;
    this.#state = state;
    this.#seq += events.length;
    this.#planned = { seq: this.#seq, effects, price };
    for (const event of events) this.#remember(event);
    this.#listener.appended(events);
    return events;
  }

  /** Off the hot path of a step: called when the outside is busy, or nothing is left to do. */
  snapshotWhenDue(atRest: boolean): void {
    const every = atRest ? SNAPSHOT_AT_REST : SNAPSHOT_IN_FLIGHT;
    if (this.#closed === null && this.#seq - this.#snapshotSeq >= every) this.saveSnapshot();
  }

  saveSnapshot(): void {
    this.#deps.log.saveSnapshot(THREAD_FOLD, this.#state, this.#seq);
    this.#snapshotSeq = this.#seq;
  }

  /** The state up to the first event that does not fold: who owns a closed thread, and may read it, is known (L6). */
  #fold(): { readonly state: ThreadState; readonly seq: number } {
    const { log } = this.#deps;
    let reached = THREAD_FOLD.initial();
    const fold: typeof THREAD_FOLD = {
      ...THREAD_FOLD,
      restore: (dumped) => (reached = THREAD_FOLD.restore(dumped)),
      evolve: (state, event) => (reached = THREAD_FOLD.evolve(state, event)),
    };
    try {
      return log.fold(fold);
    } catch (error) {
      if (log.mode.writable)
        this.#corrupt = { writable: false, reason: "log_corrupt", message: toMessage(error) };
      const { seq } = log.head();
      // What is known behind the event that does not fold is still shown: a conversation is read from the log.
      return { state: { ...reached, seq }, seq };
    }
  }

  #effectsOf(state: ThreadState, price: RoutePrice | null): readonly Effect[] {
    const { clock, log } = this.#deps;
    return nextEffects(state, { now: clock.now(), epoch: log.epoch, price });
  }

  #priceOf(state: ThreadState): RoutePrice | null {
    const pin = state.run === null ? null : pinOf(state, state.run.definition);
    const route = state.run === null || pin === null ? null : routeOf(state.run, pin.manifest);
    return route === null ? null : this.#deps.prices.price(route);
  }

  /** Stores the drafts, and the records that follow from them, until none does. Nothing of this journal changes yet. */
  #grow(drafts: readonly ThreadDraft[]): Grown {
    const { log, clock } = this.#deps;
    const at = clock.now();
    const events: ThreadEvent[] = [];
    let state = this.#state;
    let more = drafts;
    for (let round = 0; round <= MAX_FOLLOW_UPS; round += 1) {
      const expectedSeq = this.#seq + events.length;
      for (const event of log.append(withTotals(state, more), { at, expectedSeq })) {
        state = THREAD_FOLD.evolve(state, event);
        events.push(event);
      }
      const price = this.#priceOf(state);
      const effects = this.#effectsOf(state, price);
      more = this.#recordsOf(effects);
      if (more.length === 0) return { events, state, effects, price };
    }
    throw new AppError("internal", "the kernel's records do not settle", { kind: "faulted" });
  }

  #recordsOf(effects: readonly Effect[]): readonly ThreadDraft[] {
    return effects.flatMap((effect) => {
      if (effect.type === "record") return effect.drafts;
      if (effect.type === "complete_run") return [completeRun(effect, (seq) => this.eventAt(seq))];
      return [];
    });
  }

  #remember(event: ThreadEvent): void {
    this.#recent.set(event.header.seq, event);
    this.#recent.delete(event.header.seq - RECENT_EVENTS);
  }
}

interface Grown {
  readonly events: readonly ThreadEvent[];
  /** The state behind them, and what is to do in it. */
  readonly state: ThreadState;
  readonly effects: readonly Effect[];
  /** Of the run's route, as the effects were found with it. */
  readonly price: RoutePrice | null;
}
interface Planned extends Pick<Grown, "effects" | "price"> {
  readonly seq: number;
}

function isTimeless(effect: Effect): boolean {
  return effect.type === "call_model" || effect.type === "call_tool";
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : "the log cannot be folded";
}
