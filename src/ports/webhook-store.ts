/**
 * WebhookStore: where a tenant wants to be told, and how far each telling is (P137 to P139).
 *
 * Contract (suite: test/contracts/webhook-store.ts): a delivery is put once, under its webhook and message id; what is due
 * comes in the order of its log.
 */
import type { TenantId } from "#shared/ids.ts";

export const WEBHOOK_TYPES = [
  "run.completed",
  "run.failed",
  "run.cancelled",
  "approval.requested",
  "approval.decided",
  "thread.halted",
  "thread.resumed",
] as const;
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

export interface Webhook {
  readonly tenant: TenantId;
  readonly id: string;
  readonly url: string;
  /** Null: of all agents. */
  readonly agent: string | null;
  readonly types: readonly WebhookType[];
  /** Sealed, with the id as context. */
  readonly secret: string;
  /** The secret before it, which signs as long, too. */
  readonly previous: string | null;
  readonly previousUntil: number | null;
  /** Null while it is told. */
  readonly disabledAt: number | null;
  readonly disabledReason: string | null;
  /** The first failure since it took something. */
  readonly failingSince: number | null;
  readonly createdAt: number;
  readonly createdBy: string;
}
export type WebhookChange = Partial<
  Pick<
    Webhook,
    "secret" | "previous" | "previousUntil" | "disabledAt" | "disabledReason" | "failingSince"
  >
>;
export type DeliveryState = "waiting" | "delivered" | "dead";
export interface Delivery {
  readonly tenant: TenantId;
  readonly webhook: string;
  /** `webhook-id`: the same in each attempt. */
  readonly message: string;
  readonly log: string;
  readonly seq: number;
  readonly type: WebhookType;
  readonly body: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** Null unless it waits. */
  readonly nextAt: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly createdAt: number;
}
export type DeliveryKey = Pick<Delivery, "tenant" | "webhook" | "message">;
export type DeliveryProgress = Pick<
  Delivery,
  "state" | "attempts" | "nextAt" | "lastStatus" | "lastError"
>;

export interface WebhookStore {
  add(webhook: Webhook): Promise<void>;
  /** Oldest first. */
  list(tenant: TenantId): Promise<readonly Webhook[]>;
  find(tenant: TenantId, id: string): Promise<Webhook | null>;
  /** With its deliveries. False where there is none. */
  remove(tenant: TenantId, id: string): Promise<boolean>;
  change(tenant: TenantId, id: string, change: WebhookChange): Promise<boolean>;
  /** One that is there already stays as it is. */
  put(deliveries: readonly Delivery[]): Promise<void>;
  due(log: Pick<Delivery, "tenant" | "log">, now: number): Promise<readonly Delivery[]>;
  /** When the next of this log is due; null when none waits. */
  nextAt(log: Pick<Delivery, "tenant" | "log">): Promise<number | null>;
  progress(key: DeliveryKey, progress: DeliveryProgress): Promise<void>;
  delivery(key: DeliveryKey): Promise<Delivery | null>;
  /** Newest first. */
  deliveries(
    webhook: Pick<Delivery, "tenant" | "webhook">,
    state: DeliveryState | null,
  ): Promise<readonly Delivery[]>;
}
