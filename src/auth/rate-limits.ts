/**
 * Rate limits: token buckets per principal, in this isolate's memory.
 *
 * They keep one caller from taking an isolate away from the others; they are no quota. Each isolate counts for itself and
 * forgets with its end, and an evicted bucket is a full one, so over all isolates a caller may get more.
 */
import type { Clock } from "#ports/clock.ts";
import { BoundedCache } from "#shared/bounded-cache.ts";
import type { Principal } from "./principal.ts";

export interface Rates {
  /** Null: unlimited. */
  readonly requestsPerMinute: number | null;
  /** Requests that begin a run, counted beside the others. */
  readonly runsPerMinute: number | null;
}
type Counted = "request" | "run";

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

const MINUTE_MS = 60_000;
const CAPACITY = 10_000;

export class RateLimits {
  readonly #clock: Clock;
  readonly #rates: { readonly [C in Counted]: number | null };
  readonly #buckets = new BoundedCache<Bucket>(CAPACITY);

  constructor({ requestsPerMinute, runsPerMinute }: Rates, clock: Clock) {
    this.#clock = clock;
    this.#rates = { request: requestsPerMinute, run: runsPerMinute };
  }

  /** Takes one, or says in how many whole seconds there is one again. A refusal takes nothing. */
  take(counted: Counted, { tenant, id }: Principal): number | null {
    const perMinute = this.#rates[counted];
    if (perMinute === null) return null;
    const key = `${counted}:${tenant}/${id}`;
    const now = this.#clock.now();
    const bucket = this.#buckets.get(key) ?? { tokens: perMinute, at: now };
    // A clock that was set back gives nothing, and takes nothing.
    const refilled = (Math.max(0, now - bucket.at) * perMinute) / MINUTE_MS;
    const tokens = Math.min(perMinute, bucket.tokens + refilled);
    const left = tokens >= 1 ? tokens - 1 : tokens;
    this.#buckets.set(key, { tokens: left, at: now });
    return tokens >= 1 ? null : Math.ceil(((1 - tokens) * MINUTE_MS) / perMinute / 1_000);
  }
}
