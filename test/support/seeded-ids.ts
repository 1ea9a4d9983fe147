/** Ids that are the same for the same seed: `evt_<seed>_000001`. Not for production: nothing here is secret. */
import type { Ids } from "#ports/ids.ts";

export class SeededIds implements Ids {
  readonly #seed: number;
  #count = 0;
  #state: number;

  constructor(seed: number = 1) {
    this.#seed = seed;
    this.#state = seed >>> 0;
  }

  next(prefix: Parameters<Ids["next"]>[0]): string {
    this.#count += 1;
    return `${prefix}_${this.#seed}_${String(this.#count).padStart(6, "0")}`;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.#byte());
  }

  /** Mulberry32: small, well spread, and the same on every machine. */
  #byte(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) & 0xff;
  }
}
