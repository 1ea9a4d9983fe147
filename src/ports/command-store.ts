/**
 * CommandStore: receipts by idempotency key (K2). Written in the transaction of the command's events, so that a key is
 * known exactly when its events are durable. Kept as long as the thread: a receipt is far smaller than the events that it
 * stands for, and a client may come back after any time.
 */
import type { Receipt } from "#kernel/commands.ts";

export interface StoredCommand {
  /** SHA-256 of the canonical command body the key first came with. */
  readonly bodyDigest: string;
  readonly receipt: Receipt;
  readonly at: number;
}
export interface CommandStore {
  get(key: string): StoredCommand | null;
  /** A key is stored once; storing it again is a defect of the caller and throws. */
  put(key: string, command: StoredCommand): void;
}
