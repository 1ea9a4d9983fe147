/**
 * HookStore: addresses that events from outside come in by, and which events have come (P130 to P135).
 *
 * Contract (suite: test/contracts/hook-store.ts): of one (tenant, app, event) the first `claim` is kept and answered to all
 * that follow, for `EVENT_DAYS` at least; secrets are stored as they are given, which is sealed.
 */
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import type { HookScheme } from "#shared/webhook-signatures.ts";

/** Longer than any sender tries again. */
export const EVENT_DAYS = 30;

/** Which thread an event goes to: one for all, one for each, or one for each value that the body has there (RFC 6901). */
export type HookThread =
  | { readonly type: "hook" }
  | { readonly type: "event" }
  | { readonly type: "pointer"; readonly pointer: string };
export interface Hook {
  readonly id: string;
  readonly tenant: TenantId;
  /** Whose events these are: ids are unique within it. */
  readonly app: string;
  readonly agent: AgentName;
  readonly thread: HookThread;
  readonly scheme: HookScheme;
  /** Sealed, with the id as context. */
  readonly secret: string;
  /** The secret before this one, which holds as long. */
  readonly previous: string | null;
  readonly previousUntil: number | null;
  readonly createdAt: number;
  readonly createdBy: string;
}
export interface HookEvent {
  readonly tenant: TenantId;
  readonly app: string;
  /** SHA-256 over tenant, app and the sender's id. */
  readonly event: string;
  readonly hook: string;
  readonly agent: AgentName;
  readonly thread: ThreadId;
  readonly receivedAt: number;
  /** Its message is durable in its thread. */
  readonly isDelivered: boolean;
}

export interface HookStore {
  add(hook: Hook): Promise<void>;
  /** Oldest first. */
  list(tenant: TenantId): Promise<readonly Hook[]>;
  find(id: string): Promise<Hook | null>;
  /** False where there is none of this tenant. */
  remove(tenant: TenantId, id: string): Promise<boolean>;
  rotate(
    hook: Pick<Hook, "tenant" | "id" | "secret" | "previous" | "previousUntil">,
  ): Promise<boolean>;
  /** Records this event, unless it is known, and answers what is recorded. */
  claim(event: HookEvent): Promise<HookEvent>;
  delivered(event: Pick<HookEvent, "tenant" | "app" | "event">): Promise<void>;
}
