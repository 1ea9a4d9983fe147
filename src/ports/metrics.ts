/**
 * Metrics: counters over all threads of a tenant, and how each thread's object fares (H51 to H55). Fed by the outbox, so
 * they may lag; the truth is the log.
 *
 * Contract (suite: test/contracts/metrics.ts): a log's cursor and its counters move together or not at all, so an event
 * counts once however often it is delivered; a report of health holds totals and replaces the one before, and an older one
 * changes nothing; every read names a tenant (Z5).
 */
import type { CounterEntry } from "#kernel/metrics.ts";
import type { AgentName, TenantId, ThreadAddress } from "#shared/ids.ts";

export interface MetricsBatch {
  readonly tenant: TenantId;
  readonly agent: AgentName;
  readonly logId: string;
  /** The seq up to which the log was counted, and up to which it is with these. */
  readonly from: number;
  readonly to: number;
  readonly entries: readonly CounterEntry[];
}

/** How often the object was woken by its alarm, and whether that gets anywhere (H50). All kept by the object. */
export interface WakeState {
  readonly wakes: number;
  /** Of these in this hour: epoch ms divided by 3,600,000. */
  readonly hour: number;
  readonly wakesInHour: number;
  /** How often the breaker opened. */
  readonly trips: number;
  /** Wakes in a row without progress while the breaker is open; 0 while it is closed. */
  readonly stalledWakes: number;
  /** Epoch ms of the first of them. */
  readonly stalledSince: number | null;
}
export interface ThreadHealth extends WakeState {
  readonly address: ThreadAddress;
  readonly logId: string;
  /** Events that the slowest consumer of the outbox has not been told of, and when the oldest of them happened. */
  readonly lagEvents: number;
  readonly lagSince: number | null;
}

export interface AgentCounter extends CounterEntry {
  readonly agent: string;
}
/** Sums over the threads of one agent. */
export interface AgentHealth {
  readonly agent: string;
  readonly wakes: number;
  readonly wakesThisHour: number;
  /** Most wakes of one thread in this hour. */
  readonly busiestThisHour: number;
  readonly trips: number;
  readonly stalledThreads: number;
  readonly laggingThreads: number;
  readonly lagEvents: number;
  readonly lagSince: number | null;
}
export interface StalledThread {
  readonly agent: string;
  readonly thread: string;
  readonly wakes: number;
  readonly since: number;
}
export interface MetricsSnapshot {
  readonly counters: readonly AgentCounter[];
  readonly openApprovals: readonly { readonly agent: string; readonly open: number }[];
  readonly health: readonly AgentHealth[];
  /** Threads whose breaker is open, the longest first; at most 20. */
  readonly stalled: readonly StalledThread[];
}

export interface MetricsStore {
  /** Up to which seq a log is counted; 0 when it never was. */
  counted(tenant: TenantId, logId: string): Promise<number>;
  /** All of it, or nothing and false where the log is not counted up to `from`. */
  add(batch: MetricsBatch): Promise<boolean>;
  report(health: ThreadHealth): Promise<void>;
  /** `hour` is the current one: wakes of an earlier one are no longer its rate. */
  read(tenant: TenantId, hour: number): Promise<MetricsSnapshot>;
}
