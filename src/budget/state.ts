/**
 * State of a tenant's ledger, folded from its log. Plain readonly data; bounded by budgets and by the leases that are open,
 * not by history: what closed leases spent is in the counters of the budgets they fell under.
 */
import type { Amounts } from "#kernel/amounts.ts";
import type { BudgetScope, BudgetSpec, LeaseHolder } from "#ports/budget-ledger.ts";

export interface LedgerState {
  /** Last folded seq. */
  readonly seq: number;
  /** Latest time that was recorded: no decision goes by an earlier one, whatever a clock says. */
  readonly at: number;
  readonly budgets: readonly Budget[];
  readonly leases: ReadonlyMap<string, Lease>;
}

export interface Budget extends BudgetSpec {
  /** Oldest first; the newest, and older ones that open leases still belong to. */
  readonly windows: readonly BudgetWindow[];
}
export interface BudgetWindow {
  readonly key: string;
  readonly spent: number;
  /** Granted and not settled. `spent + held` never passes limit and raises by a grant (B42). */
  readonly held: number;
  /** What people granted on top of the limit, and the newest approvals that said so (B55). */
  readonly raised: number;
  readonly raises: readonly string[];
  /** Used above reservations. */
  readonly over: number;
  readonly warned: readonly { readonly percent: number; readonly at: number }[];
  readonly exhausted: boolean;
  readonly stopped: boolean;
}

export interface Lease {
  readonly leaseId: string;
  readonly holder: LeaseHolder;
  readonly epoch: number;
  readonly at: number;
  readonly until: number;
  readonly priced: boolean;
  readonly granted: Amounts;
  readonly settled: Amounts;
  readonly overrun: Amounts;
  /** Seq of the holder's log at which the settled amounts were true. */
  readonly seq: number;
  /** When the ledger last recorded something of it. */
  readonly heardAt: number;
}

export const EMPTY_LEDGER: LedgerState = { seq: 0, at: 0, budgets: [], leases: new Map() };

export function isUnder(scope: BudgetScope, { agent, thread, user }: LeaseHolder): boolean {
  switch (scope.kind) {
    case "tenant":
      return true;
    case "agent":
      return scope.agent === agent;
    case "user":
      return scope.user === user;
    case "thread":
      return scope.agent === agent && scope.thread === thread;
  }
}

const UNUSED = {
  spent: 0,
  held: 0,
  raised: 0,
  raises: [],
  over: 0,
  warned: [],
  exhausted: false,
  stopped: false,
};

/** What the window may hold at most. */
export function limitOf({ limit }: Budget, { raised }: BudgetWindow): number {
  return limit + raised;
}

/** As it stands, or as it would begin. */
export function windowOf({ windows }: Budget, key: string): BudgetWindow {
  return windows.find((window) => window.key === key) ?? { key, ...UNUSED };
}
