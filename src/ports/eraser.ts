/**
 * Eraser: one store outside a thread's object that holds content of it, and the way to forget it (H32).
 *
 * A thread's erasure asks every registered eraser; a store that joins later (long-term memory, vectors) adds one. Contract
 * (suite: test/contracts/eraser.ts): `count` has no effect; `erase` is idempotent, so a process that died between the two
 * or in the middle does both again; what other threads or runs hold stays.
 */
import type { ThreadAddress } from "#shared/ids.ts";

export interface ErasureScope extends ThreadAddress {
  /** Null: everything of the thread. */
  readonly runId: string | null;
}
export interface Eraser {
  /** As the receipt names it. */
  readonly store: string;
  /** How many things `erase` would reach. Asked and recorded before `erase`, so that a repeated attempt loses no count. */
  count(scope: ErasureScope): Promise<number>;
  erase(scope: ErasureScope): Promise<void>;
}
