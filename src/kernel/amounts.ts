/** What budgets count, and the budget that stands in the way of a call. PERSISTED CONTRACT: parts of events. */
export type BudgetUnit = "costMicros" | "tokens" | "steps" | "wallMs";
export type BudgetPeriod = "day" | "month" | "total";
/** What budgets count, as integers: money, tokens, model calls made, and the time they took. */
export type Amounts = { readonly [U in BudgetUnit]: number };

/** The budget that stood in the way of a call, and what it lacked (B47). */
export interface BudgetStop {
  readonly budgetId: string;
  readonly scope: "tenant" | "agent" | "user" | "thread";
  readonly period: BudgetPeriod;
  readonly unit: BudgetUnit;
  readonly limit: number;
  /** Granted by people on top of it. Absent: nothing. */
  readonly raised?: number | undefined;
  readonly spent: number;
  /** Blocked by leases that are open. */
  readonly leased: number;
  readonly needed: number;
  readonly cause: "limit" | "overrun" | "price_unknown";
  /** When its window ends (epoch ms); null: never. */
  readonly resetsAt: number | null;
}

/** What a person is asked for at a budget's limit, and grants by a yes: so much more in this window, once (B55). */
export interface BudgetAsk {
  readonly stop: BudgetStop;
  readonly window: string;
  /** Of the budget's unit, on top of its limit. */
  readonly amount: number;
}

/** Events of a thread that say what of the tenant's budgets it may spend, and what became of that. */
export interface LeaseEvents {
  /**
   * A part of the tenant's budgets that this run may spend without asking (B41). Header: `leaseId`. Granted again under
   * its id a lease has grown: amounts are totals.
   */
  readonly "lease.granted": {
    readonly granted: Amounts;
    /** Epoch ms from which on no call begins under it: the windows of its budgets end. */
    readonly until: number;
    /** False: for routes without a price, while no budget of money covers the run. */
    readonly priced: boolean;
  };
  /** Nothing begins under it any more; what is left goes back. Amounts are what it spent in all. */
  readonly "lease.closed": { readonly settled: Amounts; readonly overrun: Amounts };
  /** The ledger asked about a lease that this log does not hold: it will never be used here (B46). */
  readonly "lease.declined": { readonly declined: true };
  /** A budget has no room for the route at hand, so the run goes on with a cheaper one (B49). */
  readonly "route.changed": {
    readonly from: string;
    readonly to: string;
    readonly budget: BudgetStop;
  };
}

/** What a run spent, in all. Integers; money in micro-dollars. */
export interface RunTotals {
  /** Model answers. */
  readonly steps: number;
  readonly costMicros: number;
  /** Of it, for work done again after a crash. */
  readonly recoveryMicros: number;
  /** Of it, for calls whose usage nobody told. */
  readonly estimatedMicros: number;
  /** Model attempts whose price nobody knew. */
  readonly unpriced: number;
  readonly tokens: number;
}
/** Absent: a run that was cancelled before it began, or that an older build ended. */
export interface RunEnd {
  readonly totals?: RunTotals;
}
