/** Timers over a ManualClock: they fire when a test moves the time, in order, and never by themselves. */
import type { Timers } from "#runner/timers.ts";
import type { ManualClock } from "./manual-clock.ts";

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

export class ManualTimers implements Timers {
  readonly #clock: ManualClock;
  readonly #timers = new Set<Timer>();

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  get pending(): number {
    return this.#timers.size;
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.#clock.now() + ms, fire };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  rest(): void {
    // Nothing is kept between waits.
  }

  advance(ms: number): void {
    const end = this.#clock.now() + ms;
    for (;;) {
      const [next] = [...this.#timers]
        .filter((timer) => timer.at <= end)
        .toSorted((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#clock.set(Math.max(this.#clock.now(), next.at));
      next.fire();
    }
    this.#clock.set(end);
  }
}
