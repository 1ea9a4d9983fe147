/**
 * RetentionPolicies: what a tenant says of how much history its threads keep, before what agents say (H44).
 *
 * Contract (suite: test/contracts/retention-policies.ts): one policy of an agent, one of all agents that have none of their
 * own; set again it is replaced.
 */
import type { AgentName, TenantId } from "#shared/ids.ts";

export interface RetentionPolicy {
  readonly tenant: TenantId;
  /** Null: of every agent that has no policy of its own. */
  readonly agent: AgentName | null;
  /** Null bounds nothing. With both null, everything is kept, whatever an agent says. */
  readonly maxAgeDays: number | null;
  readonly maxEvents: number | null;
  readonly updatedAt: number;
  /** Opaque id of who set it. */
  readonly updatedBy: string;
}

export interface RetentionPolicies {
  set(policy: RetentionPolicy): Promise<void>;
  /** False where there was none. */
  remove(key: Pick<RetentionPolicy, "tenant" | "agent">): Promise<boolean>;
  /** That of all agents first, then by agent. */
  list(tenant: TenantId): Promise<readonly RetentionPolicy[]>;
  /** What holds for an agent: its own policy, else that of all, else null. */
  find(tenant: TenantId, agent: AgentName): Promise<RetentionPolicy | null>;
}
