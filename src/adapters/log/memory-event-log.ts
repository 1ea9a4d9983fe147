/** EventLog in memory, over a MemoryDatabase: the rules are those of ChainedEventLog, only the rows lie elsewhere. */
import type { BlobStore } from "#ports/blob-store.ts";
import { ChainedEventLog } from "./chained-event-log.ts";
import type { ChainedLogOptions } from "./log-options.ts";
import type { MemoryDatabase } from "./memory-database.ts";
import { MemoryLogStore } from "./memory-log-store.ts";

export interface MemoryEventLogOptions<M> extends ChainedLogOptions<M> {
  readonly database: MemoryDatabase;
  readonly blobs: BlobStore;
}

export class MemoryEventLog<M> extends ChainedEventLog<M> {
  constructor(options: MemoryEventLogOptions<M>) {
    super(new MemoryLogStore(options.database, options.blobs), options);
  }
}
