/**
 * Ids from the platform's secure random source.
 *
 * Randomness is drawn in pools: a salt and an id are needed for each event, and one call per value is measurable.
 */
import type { Ids } from "#ports/ids.ts";

const POOL_BYTES = 1_024;
/** 120 bits: more than any number of logs can make collide. */
const ID_BYTES = 15;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export class RandomIds implements Ids {
  #pool = new Uint8Array(0);
  #used = 0;

  next(prefix: Parameters<Ids["next"]>[0]): string {
    this.#reserve(ID_BYTES);
    let id = `${prefix}_`;
    for (let drawn = 0; drawn < ID_BYTES; drawn += 1)
      id += HEX[this.#pool[this.#used + drawn] ?? 0];
    this.#used += ID_BYTES;
    return id;
  }

  bytes(length: number): Uint8Array {
    if (length > POOL_BYTES) return crypto.getRandomValues(new Uint8Array(length));
    this.#reserve(length);
    const start = this.#used;
    this.#used += length;
    return this.#pool.slice(start, this.#used);
  }

  #reserve(length: number): void {
    if (this.#used + length <= this.#pool.length) return;
    this.#pool = crypto.getRandomValues(new Uint8Array(POOL_BYTES));
    this.#used = 0;
  }
}
