/** Synchronous SHA-256, because head read, hash and append happen in one synchronous transaction (rule L2). */
export interface Hasher {
  /** Lower-case hex of SHA-256 over the concatenation of `parts`. */
  sha256(...parts: readonly Uint8Array[]): string;
  /** The same over what is still growing. */
  start(): RunningHash;
}
export interface RunningHash {
  update(bytes: Uint8Array): void;
  /** Lower-case hex of SHA-256 over all updates so far; more may follow. */
  digest(): string;
}
