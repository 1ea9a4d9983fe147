/** Composition: what one deployment gives to every thread. Made once per isolate by the composition root. */
import type { Migration } from "#db/migrate.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { AgentVersions } from "#ports/agent-versions.ts";
import type { ApprovalInbox } from "#ports/approval-inbox.ts";
import type { BlobArchive } from "#ports/blob-archive.ts";
import type { LedgerGateway } from "#ports/budget-ledger.ts";
import type { Clock } from "#ports/clock.ts";
import type { Cron } from "#ports/cron.ts";
import type { Directory } from "#ports/directory.ts";
import type { Eraser } from "#ports/eraser.ts";
import type { Catalogue } from "#ports/event-log.ts";
import type { KeyStore } from "#ports/key-store.ts";
import type { JsonSchemas } from "#ports/json-schema.ts";
import type { MetricsStore } from "#ports/metrics.ts";
import type { ModelDirectory } from "#ports/model.ts";
import type { TenantPrices } from "#ports/prices.ts";
import type { RetentionPolicies } from "#ports/retention-policies.ts";
import type { Sandbox } from "#ports/sandbox.ts";
import type { PushProtocol } from "#ports/push.ts";
import type { RunIndex } from "#ports/run-index.ts";
import type { SpendStore } from "#ports/spend.ts";
import type { SocketProtocol } from "#ports/socket-protocol.ts";
import type { HookFactory } from "#runner/gate-hooks.ts";
import type { WebhookSender } from "#ports/webhook-sender.ts";
import type { AuditParts } from "./audit.ts";
import type { WebhookParts } from "./webhook-sending.ts";

export interface ThreadComposition {
  /** The events this build knows, and the tables it expects: a log or schema that is newer opens read-only (L6). */
  readonly catalogue: Catalogue<ThreadEvents>;
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  readonly cron: Cron;
  /** By name; routes are resolved, so that a run pins the model it began with (K18). */
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  readonly models: ModelDirectory;
  readonly sandbox: Sandbox;
  readonly schemas: JsonSchemas;
  readonly prices: TenantPrices;
  readonly hooks: HookFactory;
  readonly ledgers: LedgerGateway;
  readonly keys: Pick<KeyStore, "findById">;
  readonly directory: Directory;
  readonly inbox: ApprovalInbox;
  readonly runIndex: RunIndex;
  readonly spend: SpendStore;
  readonly metrics: MetricsStore;
  readonly webhooks: WebhookParts;
  readonly versions: Pick<AgentVersions, "promoted">;
  /** What tenants say of their threads' history, before what agents say (H44). */
  readonly retention: Pick<RetentionPolicies, "find">;
  readonly archive: BlobArchive;
  /** Stores outside the object that an erasure has to reach (H32). */
  readonly erasers: readonly Eraser[];
  readonly socketProtocol: SocketProtocol;
  readonly push: { readonly sender: WebhookSender; readonly protocol: PushProtocol };
  readonly audit: AuditParts;
  /** What an operator has to know and nobody is there to be told: never contents, never secrets. */
  readonly report: (incident: {
    readonly event: string;
    readonly object: string;
    readonly message: string;
  }) => void;
  /** Longest silence of a model stream. */
  readonly idleMs: number;
  /** Longest time until a thread whose process died goes on by itself. */
  readonly heartbeatMs: number;
}
