/**
 * The nesting rule that both SQLite adapters share: an inner transaction joins the outer one, and once an inner one
 * has failed the outer one cannot commit, even when the caller swallowed the failure. Half of a change is never kept.
 */
import { invariant } from "#shared/exhaustive.ts";

export class JoinedTransaction {
  #open = false;
  #doomed = false;

  /** `outermost` runs its argument in a real transaction and rolls back when it throws. */
  run<T>(work: () => T, outermost: (work: () => T) => T): T {
    return this.#open ? this.#join(work) : outermost(() => this.#lead(work));
  }

  #join<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#doomed = true;
      throw error;
    }
  }

  #lead<T>(work: () => T): T {
    this.#open = true;
    this.#doomed = false;
    try {
      const value = work();
      // An async callback would commit at its first await, with the rest of it outside.
      invariant(!(value instanceof Promise), "a transaction is synchronous");
      invariant(!this.#doomed, "a transaction whose inner part failed is not committed");
      return value;
    } finally {
      this.#open = false;
    }
  }
}
