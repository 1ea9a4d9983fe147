/**
 * RunIndex: which runs there are over all threads of a tenant, and how each stands. Fed by the outbox of each thread, so it
 * may lag; how a run stands is decided in its object.
 *
 * It holds ids, a status and times, and no content.
 * Contract (suite: test/contracts/run-index.ts): every read names a tenant and, for a user, an owner (Z5).
 */
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import type { RunStatus } from "./thread-gateway.ts";

export interface RunRecord {
  readonly tenant: TenantId;
  readonly agent: AgentName;
  readonly thread: ThreadId;
  /** Of the thread. */
  readonly owner: string;
  readonly run: string;
  readonly status: RunStatus;
  /** Epoch ms since when it stands so. */
  readonly at: number;
  /** Of the thread's log, up to which this is known. */
  readonly seq: number;
}
export interface RunFilter {
  readonly tenant: TenantId;
  readonly visible: { readonly to: "owner"; readonly owner: string } | { readonly to: "tenant" };
  readonly agent: AgentName;
  /** Null: any. */
  readonly statuses: readonly RunStatus[] | null;
  /** Only runs whose status is newer, or null. */
  readonly since: number | null;
}
/** A run's place in the order newest change first. */
export type RunPosition = Pick<RunRecord, "at" | "run">;

export interface RunIndex {
  /** In any order and at least once: what is known up to a later seq stays. */
  put(record: RunRecord): Promise<void>;
  list(
    query: RunFilter & { readonly after: RunPosition | null; readonly limit: number },
  ): Promise<readonly RunRecord[]>;
  count(filter: RunFilter): Promise<number>;
}
