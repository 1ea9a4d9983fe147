/** A clock that stands still until it is told to move. */
import type { Clock } from "#ports/clock.ts";

export class ManualClock implements Clock {
  #now: number;

  constructor(now: number = 1_700_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  set(now: number): void {
    this.#now = now;
  }
}
