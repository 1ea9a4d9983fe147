/**
 * BudgetLedger: the budgets of one tenant, as its threads and its operators reach them.
 *
 * Contract (rules B40 to B54). A thread asks for a lease when the one it has does not cover its next call; it never spends
 * more than it was granted. Every method may be repeated: a lease is named by its holder, reports carry totals and the
 * seq they were true at, and what is old is ignored. Rejections come back as values, because class identity does not
 * survive RPC.
 */
import type { Amounts, BudgetAsk, BudgetPeriod, BudgetStop, BudgetUnit } from "#kernel/amounts.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import type { LogBounds } from "./audit-export.ts";
import type { RawEvent } from "./event-log.ts";
import type { EventView, Page, PageRequest, Reply } from "./thread-gateway.ts";

export type BudgetScope =
  | { readonly kind: "tenant" }
  | { readonly kind: "agent"; readonly agent: string }
  | { readonly kind: "user"; readonly user: string }
  | { readonly kind: "thread"; readonly agent: string; readonly thread: string };

/**
 * What becomes of a run whose next call has no room: it ends, goes on with the next of its agent's fallbacks, or waits for
 * a person who may grant more.
 */
export type BudgetPolicy = "stop" | "cheaper" | "ask";

export interface BudgetSpec {
  readonly budgetId: string;
  readonly scope: BudgetScope;
  /** UTC. `total` never resets. */
  readonly period: BudgetPeriod;
  readonly unit: BudgetUnit;
  readonly limit: number;
  /** Percent of the limit at which a warning is recorded, ascending. */
  readonly warnAtPercent: readonly number[];
  readonly atLimit: BudgetPolicy;
}

/** A person's yes to what they were shown, as it lies in the holder's log (B55). */
export interface BudgetGrant extends Pick<BudgetAsk, "window" | "amount"> {
  readonly approvalId: string;
  readonly by: string | null;
  readonly budgetId: string;
  readonly unit: BudgetUnit;
  readonly period: BudgetPeriod;
  readonly limit: number;
}

/** The run a lease is for. Its user is the thread's owner. */
export interface LeaseHolder {
  readonly agent: AgentName;
  readonly thread: ThreadId;
  readonly run: string;
  readonly user: string | null;
}

export interface LeaseRequest {
  readonly leaseId: string;
  readonly holder: LeaseHolder;
  /** Fencing epoch of the process that asks. */
  readonly epoch: number;
  /** Of the holder's log; what follows was true there. */
  readonly seq: number;
  readonly settled: Amounts;
  readonly overrun: Amounts;
  /** The lease this thread closed last, by its log: what was left of it is needed now, and the outbox may lag. */
  readonly closed: LeaseTotals | null;
  /** Worst case of the call to come. */
  readonly need: Amounts;
  /** False: the call's price is not known, so no budget of money can cover it. */
  readonly priced: boolean;
  readonly grant: BudgetGrant | null;
}

export type LeaseAnswer =
  /** Amounts are the lease's total. */
  | {
      readonly granted: true;
      readonly amounts: Amounts;
      readonly until: number;
      readonly priced: boolean;
    }
  | {
      readonly granted: false;
      readonly stop: BudgetStop;
      readonly cheaper: boolean;
      /** What a person may grant, where this budget asks one. */
      readonly ask: BudgetAsk | null;
    }
  /** The ledger has taken this lease back. A holder that asks again counts on from its log. */
  | { readonly granted: false; readonly stop: null };

/** Totals of a lease, true at a seq of its holder's log. */
export interface LeaseTotals {
  readonly leaseId: string;
  readonly seq: number;
  readonly settled: Amounts;
  readonly overrun: Amounts;
}
export type LeaseSettled = { readonly type: "settled" } & LeaseTotals;
export type LeaseClosed = { readonly type: "closed" } & LeaseTotals;
/** The holder's log says that it will never use it. */
export interface LeaseDeclined {
  readonly type: "declined";
  readonly leaseId: string;
  readonly seq: number;
}
/** What a call cost turned out otherwise after its lease was closed. */
export interface LeaseCorrected {
  readonly type: "corrected";
  readonly leaseId: string;
  readonly seq: number;
  readonly delta: Amounts;
}
export type LeaseReport = LeaseSettled | LeaseClosed | LeaseDeclined | LeaseCorrected;

/** What a holder says of a lease when the ledger asks. */
export type LeaseStatement =
  | LeaseSettled
  | LeaseDeclined
  /** Not open, and all that its log has to tell is told. */
  | { readonly type: "absent" }
  /** Cannot say yet. */
  | { readonly type: "busy" };

export interface BudgetView extends BudgetSpec {
  readonly window: {
    readonly key: string;
    readonly from: number;
    readonly resetsAt: number | null;
  };
  readonly spent: number;
  /** Granted by people on top of the limit, for this window. */
  readonly raised: number;
  /** Blocked by open leases. */
  readonly leased: number;
  readonly left: number;
  /** `stopped`: a call used more than it had reserved; putting the budget again lifts it. */
  readonly status: "ok" | "warned" | "exhausted" | "stopped";
  readonly warnings: readonly { readonly percent: number; readonly at: number }[];
}

export interface LeaseView extends LeaseHolder {
  readonly leaseId: string;
  readonly grantedAt: number;
  /** When the holder was last heard of. */
  readonly heardAt: number;
  readonly ageMs: number;
  readonly until: number;
  readonly granted: Amounts;
  readonly settled: Amounts;
  /** Not to be had by others until it is settled. */
  readonly blocked: Amounts;
  /** The ledger asked and got no answer: the amount stays blocked. */
  readonly unreachable: boolean;
}

/** What becomes of an amount that an unreachable holder blocks: taken as spent, or given back. */
export type WriteOffKind = "spent" | "released";
export interface WriteOff {
  readonly leaseId: string;
  readonly as: WriteOffKind;
  readonly reason: string;
}
export interface WriteOffView extends WriteOff {
  readonly blocked: Amounts;
  /** What the lease counts as now. */
  readonly settled: Amounts;
}

export interface LedgerStub {
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
  report(reports: readonly LeaseReport[]): Promise<void>;
  budgets(): Promise<readonly BudgetView[]>;
  putBudget(spec: BudgetSpec, actor: string): Promise<Reply<BudgetView>>;
  deleteBudget(budgetId: string, actor: string): Promise<Reply<null>>;
  leases(): Promise<readonly LeaseView[]>;
  /** An operator's end of a lease whose holder does not answer; it is asked once more first (B58). */
  writeOff(request: WriteOff, actor: string): Promise<Reply<WriteOffView>>;
  /** For the export of its tenant: what its log holds, and its stored rows (H13). */
  auditBounds(): Promise<LogBounds>;
  export(page: PageRequest): Promise<Page<RawEvent>>;
  /** Its log: who set which budget, and what was leased, spent, warned of and refused. */
  events(page: PageRequest): Promise<Page<EventView>>;
}

/** A thread, as its ledger reaches it. */
export interface LeaseHolderStub {
  /**
   * What became of a lease, asked by the tenant's ledger. First tells all that the log has to tell about leases; where the
   * log does not hold this one and `decline` is set, records that it never will (B46). No caller: no route leads here.
   */
  askLease(leaseId: string, decline: boolean): Promise<LeaseStatement>;
}

export interface LedgerGateway {
  ledger(tenant: TenantId): LedgerStub;
}
