/**
 * Spend: what was spent over all threads, as sums that a list or a bill is made of (B28 to B30). Fed by the outbox of each
 * thread, so it may lag; the truth is the log.
 *
 * Contract (suite: test/contracts/spend.ts): a log's cursor and its rows move together or not at all, so an event counts
 * once however often it is delivered; every read names a tenant and, for a user, an owner (Z5).
 */
import type { SpendCounts, SpendEntry } from "#kernel/spend.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import type { JsonObject } from "#shared/json.ts";

export interface SpendPlace {
  readonly tenant: TenantId;
  readonly agent: AgentName;
  readonly thread: ThreadId;
  /** Of the thread. */
  readonly owner: string;
}
export interface SpendBatch {
  readonly place: SpendPlace;
  readonly logId: string;
  /** The seq up to which the log was counted, and up to which it is with these. */
  readonly from: number;
  readonly to: number;
  readonly entries: readonly SpendEntry[];
}

export type SpendDimension = "day" | "agent" | "thread" | "owner" | "route" | "tool" | "kind";
export interface SpendQuery {
  readonly tenant: TenantId;
  readonly visible: { readonly to: "owner"; readonly owner: string } | { readonly to: "tenant" };
  /** Days, both included. */
  readonly from: string | null;
  readonly to: string | null;
  readonly where: { readonly [D in "agent" | "thread" | "owner"]?: string };
  /** At least one, without repeats. Groups come in the order of their values. */
  readonly groupBy: readonly SpendDimension[];
  /** Values of the last group of the page before, as many as `groupBy`. */
  readonly after: readonly string[] | null;
  readonly limit: number;
}
export interface SpendGroup extends SpendCounts {
  /** One value for each dimension of `groupBy`. */
  readonly values: readonly string[];
  readonly recoveryMicros: number;
  readonly estimatedMicros: number;
}

export interface SpendStore {
  /** Up to which seq a log is counted; 0 when it never was. */
  counted(tenant: TenantId, logId: string): Promise<number>;
  /** All of it, or nothing and false where the log is not counted up to `from`. */
  add(batch: SpendBatch): Promise<boolean>;
  /** What the thread has now, for comparison. */
  entries(place: SpendPlace): Promise<readonly SpendEntry[]>;
  /** As `add`, in place of everything the thread has. */
  replace(batch: SpendBatch): Promise<boolean>;
  sum(query: SpendQuery): Promise<readonly SpendGroup[]>;
}

/** What a provider says late about one attempt (B26). */
export interface LateUsage {
  /** Id of the attempt's intent: its idempotency key. */
  readonly intent: string;
  /** In the shape of whichever provider. */
  readonly usage: JsonObject;
}
/** The thread's sums in the rollup against those of its log (B29). */
export interface SpendCheck {
  /** Up to which seq the thread is counted, and what that cost. */
  readonly countedTo: number;
  readonly micros: number;
  readonly rows: number;
  /** Rows of the rollup that were not what the log says. */
  readonly differing: number;
  readonly replaced: boolean;
}
