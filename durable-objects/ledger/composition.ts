/** Composition: what one deployment gives to every ledger. Made once per isolate by the composition root. */
import type { AuditParts } from "#durable-objects/agent/audit.ts";
import type { Migration } from "#db/migrate.ts";
import type { Clock } from "#ports/clock.ts";
import type { ThreadGateway } from "#ports/thread-gateway.ts";

export interface LedgerComposition {
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  /** How holders of leases are asked. */
  readonly threads: Pick<ThreadGateway, "thread">;
  /** A lease that nothing was heard of for so long is asked about, and again after as long. */
  readonly askAfterMs: number;
  readonly audit: Pick<AuditParts, "signer" | "anchors" | "copies">;
  /** What an operator should know. */
  readonly report: (incident: {
    readonly event: string;
    readonly object: string;
    readonly message: string;
  }) => void;
}
