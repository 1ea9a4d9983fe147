/**
 * Directory: what must be listed across objects. D1 in every deployment; a thread is registered here before its first
 * command is acknowledged (Z7). It finds threads; what may be done with one is decided in its object (Z4).
 *
 * Contract (suite: test/contracts/directory.ts): every read names a tenant and, for a user, an owner. There is no
 * query without a scope, so forgetting one cannot widen the answer (Z5).
 */
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";

export interface ThreadRecord {
  readonly tenant: TenantId;
  readonly agent: AgentName;
  readonly thread: ThreadId;
  readonly owner: string;
  readonly title: string | null;
  readonly createdAt: number;
  readonly lastSeq: number;
  readonly updatedAt: number;
}
/** A thread's place in the order newest first. */
export interface ThreadPosition {
  readonly createdAt: number;
  readonly agent: AgentName;
  readonly thread: ThreadId;
}
export interface ThreadQuery {
  readonly tenant: TenantId;
  /** `tenant` lists everybody's threads: for principals that are not users. */
  readonly visible: { readonly to: "owner"; readonly owner: string } | { readonly to: "tenant" };
  /** Null: of all agents. */
  readonly agent: AgentName | null;
  /** Position of the last thread of the page before, or null for the first page. */
  readonly after: ThreadPosition | null;
  readonly limit: number;
}
export interface Directory {
  /** Idempotent; answers the record as first registered, so a second owner never takes a thread over. */
  register(record: ThreadRecord): Promise<ThreadRecord>;
  get(tenant: TenantId, agent: AgentName, thread: ThreadId): Promise<ThreadRecord | null>;
  /** Newest first; threads of one millisecond by agent and thread id. */
  list(query: ThreadQuery): Promise<readonly ThreadRecord[]>;
  /** From the outbox, so at least once and in any order: `lastSeq` and `updatedAt` only ever rise. */
  touch(touch: ThreadTouch): Promise<void>;
}
export interface ThreadTouch {
  readonly tenant: TenantId;
  readonly agent: AgentName;
  readonly thread: ThreadId;
  readonly lastSeq: number;
  readonly at: number;
}
