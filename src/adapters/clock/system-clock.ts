/** Wall time of the platform. */
import type { Clock } from "#ports/clock.ts";

export class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }
}
