/**
 * Every event a tenant's ledger may hold. PERSISTED CONTRACT, like a thread's (docs/events.md): a changed shape needs a new
 * version, an upcaster, a golden log and a changelog line.
 *
 * Headers name the lease and its thread. They hold no costs: those are of the threads' logs, and are counted there once.
 */
import type { Amounts } from "#kernel/amounts.ts";
import type { BudgetSpec, LeaseHolder, WriteOffKind } from "#ports/budget-ledger.ts";
import type { Draft, StoredEvent } from "#ports/event-log.ts";

export interface LedgerEvents {
  /** Sets or replaces a budget. `opening` is what was spent under it in its present window before. */
  readonly "budget.set": BudgetSpec & {
    readonly at: number;
    readonly opening: { readonly spent: number };
  };
  readonly "budget.deleted": { readonly budgetId: string };
  readonly "budget.warned": {
    readonly budgetId: string;
    readonly window: string;
    readonly percent: number;
    readonly spent: number;
    readonly at: number;
  };
  /** The first call of a window that had no room. */
  readonly "budget.exhausted": {
    readonly budgetId: string;
    readonly window: string;
    readonly leaseId: string;
    readonly spent: number;
    readonly leased: number;
    readonly needed: number;
  };
  /** A call used more than it had reserved: nothing further is leased under this budget (B48). */
  readonly "budget.stopped": {
    readonly budgetId: string;
    readonly window: string;
    readonly over: number;
  };
  /** A person's yes: so much more in this window, once. Header: `actor` who granted it, `cause` the approval. */
  readonly "budget.raised": {
    readonly budgetId: string;
    readonly window: string;
    readonly approvalId: string;
    readonly amount: number;
  };
  /** Amounts are the lease's total; granted again under its id it has grown. */
  readonly "lease.granted": {
    readonly leaseId: string;
    readonly holder: LeaseHolder;
    readonly epoch: number;
    /** When it was first granted: which windows it belongs to. */
    readonly at: number;
    readonly until: number;
    readonly priced: boolean;
    readonly granted: Amounts;
  };
  /** Totals, as the holder's log had them at its `seq`. */
  readonly "lease.settled": {
    readonly leaseId: string;
    readonly seq: number;
    readonly settled: Amounts;
    readonly overrun: Amounts;
  };
  readonly "lease.closed": {
    readonly leaseId: string;
    readonly seq: number;
    readonly settled: Amounts;
    readonly overrun: Amounts;
    /** `declined`: it had never reached its holder's log. `written_off`: by an operator, in the header (B58). */
    readonly how: "holder" | "declined" | "written_off";
    /** Of a write-off: what was blocked, what was made of it, and why. */
    readonly writeOff?: {
      readonly blocked: Amounts;
      readonly as: WriteOffKind;
      readonly reason: string;
    };
  };
  /** Of a lease that is closed: what it used turned out otherwise. */
  readonly "lease.corrected": {
    readonly leaseId: string;
    readonly seq: number;
    readonly holder: LeaseHolder;
    readonly at: number;
    readonly delta: Amounts;
  };
}
export type LedgerEvent = StoredEvent<LedgerEvents>;
export type LedgerDraft = Draft<LedgerEvents>;
