/**
 * What a ledger answers, as pure decisions over its state.
 *
 * B42 A grant never makes `spent + held` of a window pass its limit. What a lease holds already counts, so asking again for
 * the same need changes nothing. B43 The share of one lease shrinks with what is left, so that the last of a budget is
 * handed out call by call and not locked up in one thread.
 */
import type { BudgetAsk, Amounts, BudgetStop, BudgetUnit } from "#kernel/amounts.ts";
import { BUDGET_UNITS, covers, leaseRest, mapAmounts, NOTHING } from "#kernel/leases.ts";
import type {
  LeaseAnswer,
  LeaseClosed,
  LeaseDeclined,
  LeaseRequest,
  LeaseTotals,
  WriteOff,
} from "#ports/budget-ledger.ts";
import type { ShelvedLease } from "#ports/lease-shelf.ts";
import type { LedgerDraft } from "./events.ts";
import { applyChange } from "./evolve.ts";
import {
  type Budget,
  type BudgetWindow,
  isUnder,
  type Lease,
  type LedgerState,
  limitOf,
  windowOf,
} from "./state.ts";
import { leaseUntil, windowAt } from "./windows.ts";

/**
 * A lease is for about so many calls like the one that asks: most runs ask once. Of what no budget counts nobody waits for
 * what it holds, and asking is what a ledger costs a step.
 */
const CALLS_PER_LEASE = 16;
const CALLS_UNCOUNTED = 128;
/** At most this part of what is left goes to one lease, unless a single call needs more. */
const SHARE_OF_REST = 8;
/** A person is asked for at least this part of the limit. */
const RAISE_PART = 10;

export interface Decision<A> {
  readonly drafts: readonly LedgerDraft[];
  readonly answer: A;
}

/** `wasClosed`: the ledger has closed a lease of this id before. */
export function decideLease(
  state: LedgerState,
  request: LeaseRequest,
  { now, wasClosed }: { readonly now: number; readonly wasClosed: boolean },
): Decision<LeaseAnswer> {
  const { leaseId, holder, need, priced } = request;
  const open = state.leases.get(leaseId);
  if (open === undefined ? wasClosed : now >= open.until)
    return { drafts: [], answer: { granted: false, stop: null } };
  // What the holder has spent since it was last heard comes first: it may be why there is no room.
  const heard = open === undefined ? [] : decideSettled(open, request);
  const settled = heard.reduce((next, draft) => applyChange(next, draft, now), state);
  const raised = decideRaise(settled, request, now);
  const known = raised.reduce((next, draft) => applyChange(next, draft, now), settled);
  const before = [...heard, ...raised];
  const lease = known.leases.get(leaseId) ?? newLease(request, now);
  const rest = leaseRest(lease);
  const above = known.budgets.filter(({ scope }) => isUnder(scope, holder));
  const stop = firstStop(above, { lease, need, rest, priced });
  if (stop !== null) {
    const { budget, stop: found } = stop;
    return {
      drafts: [...before, ...noteExhausted(budget, { lease, stop: found })],
      answer: {
        granted: false,
        stop: found,
        cheaper: budget.atLimit === "cheaper",
        ask: toAsk(budget, { lease, need, rest, priced }),
      },
    };
  }
  if (open !== undefined && covers(rest, need) && (priced || !open.priced))
    return { drafts: before, answer: toAnswer(lease) };
  const granted = mapAmounts((unit) => {
    const room = roomOf(above, unit, lease);
    const missing = Math.max(0, need[unit] - rest[unit]);
    const calls = room === Infinity ? CALLS_UNCOUNTED : CALLS_PER_LEASE;
    const wanted = Math.max(0, need[unit] * calls - rest[unit]);
    return (
      lease.granted[unit] + Math.max(missing, Math.min(wanted, Math.floor(room / SHARE_OF_REST)))
    );
  });
  const grown = { ...lease, granted, priced: lease.priced && priced };
  const { at, until } = lease;
  const payload = {
    leaseId,
    holder,
    epoch: request.epoch,
    at,
    until,
    priced: grown.priced,
    granted,
  };
  const draft: LedgerDraft = { type: "lease.granted", payload, scope: scopeOf(lease) };
  return { drafts: [...before, draft], answer: toAnswer(grown) };
}

function newLease({ leaseId, holder, epoch, seq, priced }: LeaseRequest, now: number): Lease {
  const none = { granted: NOTHING, settled: NOTHING, overrun: NOTHING };
  return {
    leaseId,
    holder,
    epoch,
    seq,
    priced,
    at: now,
    until: leaseUntil(now),
    heardAt: now,
    ...none,
  };
}

function toAnswer({ granted, until, priced }: Lease): LeaseAnswer {
  return { granted: true, amounts: granted, until, priced };
}

interface Asked {
  readonly lease: Lease;
  readonly need: Amounts;
  readonly rest: Amounts;
  readonly priced: boolean;
}

function firstStop(
  above: readonly Budget[],
  asked: Asked,
): { readonly budget: Budget; readonly stop: BudgetStop } | null {
  for (const budget of above) {
    const cause = stopCause(budget, asked);
    if (cause !== null) return { budget, stop: toStop(budget, asked, cause) };
  }
  return null;
}

function stopCause(
  budget: Budget,
  { lease, need, rest, priced }: Asked,
): BudgetStop["cause"] | null {
  const { unit } = budget;
  if (!priced && unit === "costMicros") return "price_unknown";
  const window = windowOf(budget, windowAt(budget.period, lease.at).key);
  if (window.stopped) return "overrun";
  return need[unit] - rest[unit] > roomIn(budget, window) ? "limit" : null;
}

function roomIn(budget: Budget, window: BudgetWindow): number {
  return Math.max(0, limitOf(budget, window) - window.spent - window.held);
}

/** Enough for the call, and for some more, so that a person is not asked at each. */
function toAsk(budget: Budget, asked: Asked): BudgetAsk | null {
  const { lease, need, rest } = asked;
  if (budget.atLimit !== "ask" || stopCause(budget, asked) !== "limit") return null;
  const { unit, limit, period } = budget;
  const { key } = windowAt(period, lease.at);
  const missing = need[unit] - rest[unit] - roomIn(budget, windowOf(budget, key));
  const amount = Math.max(missing, Math.ceil(limit / RAISE_PART));
  return { stop: toStop(budget, asked, "limit"), window: key, amount };
}

/** What a person granted for the very budget and window they were shown, once; of anything else nothing is granted. */
function decideRaise(
  state: LedgerState,
  { grant, leaseId, holder }: LeaseRequest,
  now: number,
): readonly LedgerDraft[] {
  if (grant === null) return [];
  const { budgetId, window: key, amount, approvalId, by: actor } = grant;
  const budget = state.budgets.find((each) => each.budgetId === budgetId);
  if (budget === undefined || budget.limit !== grant.limit) return [];
  if (budget.unit !== grant.unit || budget.period !== grant.period) return [];
  if (windowAt(budget.period, now).key !== key || !isUnder(budget.scope, holder)) return [];
  if (windowOf(budget, key).raises.includes(approvalId)) return [];
  const scope = { ...scopeOf({ leaseId, holder }), actor, cause: approvalId };
  const payload = { budgetId, window: key, approvalId, amount };
  return [{ type: "budget.raised", payload, scope }];
}

function toStop(budget: Budget, { lease, need }: Asked, cause: BudgetStop["cause"]): BudgetStop {
  const { budgetId, scope, period, unit, limit } = budget;
  const span = windowAt(period, lease.at);
  const { spent, held: leased, raised } = windowOf(budget, span.key);
  const needed = need[unit];
  return {
    budgetId,
    scope: scope.kind,
    period,
    unit,
    limit,
    ...(raised === 0 ? {} : { raised }),
    spent,
    leased,
    needed,
    cause,
    resetsAt: span.until,
  };
}

/** Once a window, so that what is refused again and again does not fill the log. */
function noteExhausted(
  budget: Budget,
  { lease, stop }: { readonly lease: Lease; readonly stop: BudgetStop },
): readonly LedgerDraft[] {
  const { key: window } = windowAt(budget.period, lease.at);
  if (stop.cause !== "limit" || windowOf(budget, window).exhausted) return [];
  const { budgetId, spent, leased, needed } = stop;
  const { leaseId } = lease;
  const payload = { budgetId, window, leaseId, spent, leased, needed };
  return [{ type: "budget.exhausted", payload, scope: scopeOf(lease) }];
}

/** What the budgets above leave for this unit; infinite where none counts it. */
function roomOf(above: readonly Budget[], unit: BudgetUnit, { at }: Lease): number {
  return above.reduce((room, budget) => {
    if (budget.unit !== unit) return room;
    return Math.min(room, roomIn(budget, windowOf(budget, windowAt(budget.period, at).key)));
  }, Infinity);
}

/** Totals at a seq that is newer than what is known; anything else changes nothing (B45). */
export function decideSettled(
  lease: Lease,
  { seq, settled, overrun }: LeaseTotals,
): readonly LedgerDraft[] {
  const isSame = BUDGET_UNITS.every(
    (unit) => settled[unit] === lease.settled[unit] && overrun[unit] === lease.overrun[unit],
  );
  if (seq <= lease.seq || isSame) return [];
  return [
    {
      type: "lease.settled",
      payload: { leaseId: lease.leaseId, seq, settled, overrun },
      scope: scopeOf(lease),
    },
  ];
}

export function decideClosed(
  lease: Lease,
  report: LeaseClosed | LeaseDeclined,
): readonly LedgerDraft[] {
  const { leaseId } = lease;
  if (report.type === "closed") {
    const { seq, settled, overrun } = report;
    const payload = { leaseId, seq, settled, overrun, how: "holder" } as const;
    return [{ type: "lease.closed", payload, scope: scopeOf(lease) }];
  }
  // What was declined had never reached its holder, so nothing was spent under it.
  if (BUDGET_UNITS.some((unit) => lease.settled[unit] !== 0)) return [];
  const { seq } = report;
  const { settled, overrun } = lease;
  const payload = { leaseId, seq, settled, overrun, how: "declined" } as const;
  return [{ type: "lease.closed", payload, scope: scopeOf(lease) }];
}

/** Blocked amounts as their holder's log will never say: an operator's word stands in for it (B58). */
export function decideWriteOff(
  lease: Lease,
  { as, reason }: Pick<WriteOff, "as" | "reason">,
  actor: string,
): { readonly draft: LedgerDraft; readonly blocked: Amounts; readonly settled: Amounts } {
  const { leaseId, seq, overrun } = lease;
  const blocked = leaseRest(lease);
  const settled =
    as === "released" ? lease.settled : mapAmounts((unit) => lease.settled[unit] + blocked[unit]);
  const writeOff = { blocked, as, reason };
  const payload = { leaseId, seq, settled, overrun, how: "written_off", writeOff } as const;
  return {
    draft: { type: "lease.closed", payload, scope: { ...scopeOf(lease), actor } },
    blocked,
    settled,
  };
}

/** What the holder of a closed lease says of it after all: its log is right, whatever was assumed (B58). */
export function decideLate(
  known: ShelvedLease,
  { seq, settled }: LeaseTotals,
): readonly LedgerDraft[] {
  const delta = mapAmounts((unit) => settled[unit] - known.settled[unit]);
  if (seq <= known.seq || BUDGET_UNITS.every((unit) => delta[unit] === 0)) return [];
  const { leaseId, holder, at } = known;
  const payload = { leaseId, seq, holder, at, delta };
  return [{ type: "lease.corrected", payload, scope: scopeOf(known) }];
}

/** Warnings and stops that follow from the counters as they are. */
export function followUps(state: LedgerState, now: number): readonly LedgerDraft[] {
  return state.budgets.flatMap((budget): readonly LedgerDraft[] => {
    const { budgetId, limit, warnAtPercent } = budget;
    return budget.windows.flatMap(({ key: window, spent, warned, over, stopped }) => {
      const passed = warnAtPercent.filter(
        (percent) =>
          spent * 100 >= limit * percent && !warned.some((known) => known.percent === percent),
      );
      const warnings = passed.map((percent): LedgerDraft => ({
        type: "budget.warned",
        payload: { budgetId, window, percent, spent, at: now },
      }));
      const stop: readonly LedgerDraft[] =
        over > 0 && !stopped
          ? [{ type: "budget.stopped", payload: { budgetId, window, over } }]
          : [];
      return [...warnings, ...stop];
    });
  });
}

export function scopeOf({ leaseId, holder }: Pick<Lease, "leaseId" | "holder">): {
  readonly leaseId: string;
  readonly agent: string;
  readonly thread: string;
  readonly run: string;
} {
  const { agent, thread, run } = holder;
  return { leaseId, agent, thread, run };
}
