/**
 * TenantLedger: the budgets of one tenant over its own log; the same in a Durable Object and in plain Node.
 *
 * Owns the line through which the ledger's log grows. Every method is synchronous, so no other request falls between a
 * decision and its record. What is recorded is durable before it is answered (K1); a ledger whose storage failed, or
 * whose epoch is old, stops for good and is opened again by its host.
 */
import { leaseRest } from "#kernel/leases.ts";
import type {
  BudgetSpec,
  BudgetView,
  LeaseAnswer,
  LeaseReport,
  LeaseRequest,
  LeaseView,
  WriteOff,
  WriteOffView,
} from "#ports/budget-ledger.ts";
import type { Clock } from "#ports/clock.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { LeaseShelf } from "#ports/lease-shelf.ts";
import type { Reply } from "#ports/thread-gateway.ts";
import { AppError } from "#shared/errors.ts";
import { err, ok } from "#shared/result.ts";
import {
  decideClosed,
  decideLate,
  decideLease,
  decideSettled,
  decideWriteOff,
  followUps,
  scopeOf,
} from "./decide.ts";
import type { LedgerDraft, LedgerEvents } from "./events.ts";
import { applyChange, LEDGER_FOLD } from "./evolve.ts";
import { type Budget, type LedgerState, limitOf, windowOf } from "./state.ts";
import { windowAt } from "./windows.ts";

export const MAX_BUDGETS = 200;
const SNAPSHOT_EVERY = 256;

export interface LedgerDeps {
  readonly log: EventLog<LedgerEvents>;
  readonly shelf: LeaseShelf;
  readonly clock: Clock;
}

export class TenantLedger {
  readonly #deps: LedgerDeps;
  readonly #unreachable = new Set<string>();
  #state: LedgerState;
  #snapshotSeq: number;
  #closed = false;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
    const { state, seq } = deps.log.fold(LEDGER_FOLD);
    this.#state = state;
    this.#snapshotSeq = seq;
  }

  /** Its storage failed, or another process writes: the host opens a new one. */
  get closed(): boolean {
    return this.#closed;
  }
  get state(): LedgerState {
    return this.#state;
  }

  lease(request: LeaseRequest): LeaseAnswer {
    const now = this.#now();
    if (request.closed !== null) this.report([{ type: "closed", ...request.closed }]);
    const wasClosed =
      !this.#state.leases.has(request.leaseId) && this.#deps.shelf.get(request.leaseId) !== null;
    const { drafts, answer } = decideLease(this.#state, request, { now, wasClosed });
    this.#append(drafts, now);
    this.#unreachable.delete(request.leaseId);
    return answer;
  }

  report(reports: readonly LeaseReport[]): void {
    const now = this.#now();
    for (const report of reports) this.#append(this.#decideReport(report), now);
  }

  put(spec: BudgetSpec, actor: string): Reply<BudgetView> {
    const { budgets } = this.#state;
    const known = budgets.some(({ budgetId }) => budgetId === spec.budgetId);
    if (!known && budgets.length >= MAX_BUDGETS) return err(TOO_MANY);
    const now = this.#now();
    const span = windowAt(spec.period, now);
    const spent = this.#deps.shelf.spent(spec.scope, spec.unit, span);
    const payload = { ...spec, at: now, opening: { spent } };
    this.#append([{ type: "budget.set", payload, scope: { actor } }], now);
    const budget = this.#state.budgets.find(({ budgetId }) => budgetId === spec.budgetId);
    return budget === undefined ? err(MISSING) : ok(toView(budget, now));
  }

  remove(budgetId: string, actor: string): Reply<null> {
    if (!this.#state.budgets.some((budget) => budget.budgetId === budgetId)) return err(MISSING);
    const draft = { type: "budget.deleted", payload: { budgetId }, scope: { actor } } as const;
    this.#append([draft], this.#now());
    return ok(null);
  }

  budgets(): readonly BudgetView[] {
    const now = this.#now();
    return this.#state.budgets.map((budget) => toView(budget, now));
  }

  leases(): readonly LeaseView[] {
    const now = this.#now();
    return [...this.#state.leases.values()].map((lease) => ({
      ...lease.holder,
      leaseId: lease.leaseId,
      grantedAt: lease.at,
      heardAt: lease.heardAt,
      ageMs: now - lease.at,
      until: lease.until,
      granted: lease.granted,
      settled: lease.settled,
      blocked: leaseRest(lease),
      unreachable: this.#unreachable.has(lease.leaseId),
    }));
  }

  /** Whether its holder answers is the host's to find out, before it asks for this. */
  writeOff({ leaseId, as, reason }: WriteOff, actor: string): Reply<WriteOffView> {
    const lease = this.#state.leases.get(leaseId);
    if (lease === undefined) return err(NO_LEASE);
    const { draft, blocked, settled } = decideWriteOff(lease, { as, reason }, actor);
    this.#append([draft], this.#now());
    this.#unreachable.delete(leaseId);
    return ok({ leaseId, as, reason, blocked, settled });
  }

  isUnreachable(leaseId: string): boolean {
    return this.#unreachable.has(leaseId);
  }
  isOpen(leaseId: string): boolean {
    return this.#state.leases.has(leaseId);
  }

  /** The amount stays blocked, and is shown as such (B46). */
  noteUnreachable(leaseId: string): void {
    if (this.isOpen(leaseId)) this.#unreachable.add(leaseId);
  }
  noteReached(leaseId: string): void {
    this.#unreachable.delete(leaseId);
  }

  #decideReport(report: LeaseReport): readonly LedgerDraft[] {
    const lease = this.#state.leases.get(report.leaseId);
    if (report.type === "corrected") return lease === undefined ? this.#correct(report) : [];
    if (lease === undefined) return this.#late(report);
    return report.type === "settled" ? decideSettled(lease, report) : decideClosed(lease, report);
  }

  /** Of a lease that was written off: its holder lives after all. One that never was declared holds nothing. */
  #late(report: Exclude<LeaseReport, { readonly type: "corrected" }>): readonly LedgerDraft[] {
    const known = report.type === "declined" ? null : this.#deps.shelf.get(report.leaseId);
    return known === null || report.type === "declined" ? [] : decideLate(known, report);
  }

  /** Of an open lease nothing is corrected: its next totals hold it already. */
  #correct({
    leaseId,
    seq,
    delta,
  }: Extract<LeaseReport, { readonly type: "corrected" }>): readonly LedgerDraft[] {
    const known = this.#deps.shelf.get(leaseId);
    if (known === null || seq <= known.seq) return [];
    const { holder, at } = known;
    const payload = { leaseId, seq, holder, at, delta };
    return [{ type: "lease.corrected", payload, scope: scopeOf(known) }];
  }

  /** What follows from the counters is part of the append that moves them. */
  #append(drafts: readonly LedgerDraft[], now: number): void {
    if (drafts.length === 0) return;
    if (this.#closed)
      throw new AppError("unavailable", "the ledger is closed", { retryable: true });
    const after = drafts.reduce((next, draft) => applyChange(next, draft, now), this.#state);
    const all = [...drafts, ...followUps(after, now)];
    try {
      const { seq } = this.#state;
      const events = this.#deps.log.append(all, { at: now, expectedSeq: seq });
      this.#state = events.reduce(LEDGER_FOLD.evolve, this.#state);
    } catch (error) {
      this.#closed = true;
      throw error;
    }
    if (this.#state.seq - this.#snapshotSeq < SNAPSHOT_EVERY) return;
    this.#deps.log.saveSnapshot(LEDGER_FOLD, this.#state, this.#state.seq);
    this.#snapshotSeq = this.#state.seq;
  }

  /** Never earlier than what is recorded: a window that was left is not entered again. */
  #now(): number {
    return Math.max(this.#deps.clock.now(), this.#state.at);
  }
}

function toView(budget: Budget, now: number): BudgetView {
  const { windows: _, ...spec } = budget;
  const span = windowAt(spec.period, now);
  const window = windowOf(budget, span.key);
  const { spent, raised, held, warned, exhausted, stopped } = window;
  return {
    ...spec,
    window: { key: span.key, from: span.from, resetsAt: span.until },
    spent,
    raised,
    leased: held,
    left: Math.max(0, limitOf(budget, window) - spent - held),
    status: stopped ? "stopped" : exhausted ? "exhausted" : warned.length > 0 ? "warned" : "ok",
    warnings: warned,
  };
}

const TOO_MANY = {
  code: "conflict",
  message: `a tenant has at most ${MAX_BUDGETS} budgets; delete one first`,
  detail: { limit: MAX_BUDGETS },
  retryable: false,
} as const;
const NO_LEASE = {
  code: "not_found",
  message: "no such lease is open",
  detail: {},
  retryable: false,
} as const;
const MISSING = {
  code: "not_found",
  message: "no such budget",
  detail: {},
  retryable: false,
} as const;
