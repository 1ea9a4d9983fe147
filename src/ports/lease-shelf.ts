/** LeaseShelf: every lease a ledger ever granted, one row each, so that a closed one is known and old spend can be summed. */
import type { Amounts, BudgetUnit } from "#kernel/amounts.ts";
import type { BudgetScope, LeaseHolder } from "./budget-ledger.ts";

export interface ShelvedLease {
  readonly leaseId: string;
  readonly holder: LeaseHolder;
  /** When it was first granted. */
  readonly at: number;
  readonly open: boolean;
  /** Of the holder's log; the settled amounts were true there. */
  readonly seq: number;
  readonly settled: Amounts;
}

export interface LeaseShelf {
  clear(): void;
  put(lease: ShelvedLease): void;
  get(leaseId: string): ShelvedLease | null;
  /** Settled under leases of this scope that were first granted in `[from, until)`; null never ends. */
  spent(
    scope: BudgetScope,
    unit: BudgetUnit,
    span: { readonly from: number; readonly until: number | null },
  ): number;
}
