/**
 * Directory: what must be listed across objects. D1 in every deployment; a thread is registered here before its first
 * command is acknowledged (Z5). Every read takes the caller's tenant, and a user sees only threads of its own.
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
export interface Directory {
  /** Idempotent; answers the record as first registered, so a second owner never takes a thread over. */
  register(record: ThreadRecord): Promise<ThreadRecord>;
  get(tenant: TenantId, agent: AgentName, thread: ThreadId): Promise<ThreadRecord | null>;
  /** `owner` null lists the whole tenant: for service principals only. Newest first. */
  list(tenant: TenantId, owner: string | null, page: { readonly before: number; readonly limit: number }): Promise<readonly ThreadRecord[]>;
  /** From the outbox: at least once, so `lastSeq` only ever rises. */
  touch(tenant: TenantId, agent: AgentName, thread: ThreadId, lastSeq: number, at: number): Promise<void>;
}
