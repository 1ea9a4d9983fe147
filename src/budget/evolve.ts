/**
 * The fold of a ledger's log. `applyChange` needs the payload alone, so a decision can look at what it would lead to
 * before anything is appended.
 *
 * Counters of a budget's windows move with each lease that falls under it: settled amounts are spent, the rest of what
 * was granted is held. A lease counts in the windows of the moment it was granted in.
 */
import type { Amounts, BudgetUnit } from "#kernel/amounts.ts";
import { createCatalogue } from "#kernel/event-upcast.ts";
import { leaseRest, NOTHING } from "#kernel/leases.ts";
import type { Catalogue, Fold } from "#ports/event-log.ts";
import type { Json } from "#shared/json.ts";
import type { LedgerDraft, LedgerEvent, LedgerEvents } from "./events.ts";
import {
  type Budget,
  type BudgetWindow,
  EMPTY_LEDGER,
  isUnder,
  type Lease,
  type LedgerState,
  windowOf,
} from "./state.ts";
import { windowAt } from "./windows.ts";

export const LEDGER_CATALOGUE: Catalogue<LedgerEvents> = createCatalogue<LedgerEvents>(
  "ledger",
  {
    "budget.set": 1,
    "budget.deleted": 1,
    "budget.warned": 1,
    "budget.exhausted": 1,
    "budget.stopped": 1,
    "budget.raised": 1,
    "lease.granted": 1,
    "lease.settled": 1,
    "lease.closed": 1,
    "lease.corrected": 1,
  },
  {},
);

/** A run asks with its newest approval only, so older ones need not be known for ever. */
const MAX_RAISES = 64;

/** `at` is when the change is recorded. */
export function applyChange(state: LedgerState, change: LedgerDraft, at: number): LedgerState {
  switch (change.type) {
    case "budget.set":
      return setBudget(state, change.payload);
    case "budget.deleted": {
      const { budgetId } = change.payload;
      return { ...state, budgets: state.budgets.filter((budget) => budget.budgetId !== budgetId) };
    }
    case "budget.warned": {
      const { percent, at: warnedAt } = change.payload;
      return mark(state, change.payload, ({ warned }) => ({
        warned: [...warned, { percent, at: warnedAt }],
      }));
    }
    case "budget.exhausted":
      return mark(state, change.payload, () => ({ exhausted: true }));
    case "budget.stopped":
      return mark(state, change.payload, () => ({ stopped: true }));
    case "budget.raised": {
      const { approvalId, amount } = change.payload;
      return mark(state, change.payload, ({ raised, raises }) => ({
        raised: raised + amount,
        raises: [...raises.slice(-MAX_RAISES + 1), approvalId],
        exhausted: false,
      }));
    }
    case "lease.granted":
      return grant(state, change.payload, at);
    case "lease.settled":
    case "lease.closed":
      return settle(state, change, at);
    case "lease.corrected":
      return correct(state, change.payload);
  }
}

function evolve(state: LedgerState, event: LedgerEvent): LedgerState {
  const { seq } = event.header;
  const at = Math.max(state.at, event.header.at);
  // Nothing of a ledger is ever erased: it holds ids and numbers only.
  if (event.payload === null) return { ...state, seq, at };
  return { ...applyChange(state, event as LedgerDraft, at), seq, at };
}

function setBudget(
  state: LedgerState,
  { opening, at, ...spec }: LedgerEvents["budget.set"],
): LedgerState {
  const { key } = windowAt(spec.period, at);
  const others = state.budgets.filter((budget) => budget.budgetId !== spec.budgetId);
  const fresh: Budget = { ...spec, windows: [] };
  const held = [...state.leases.values()]
    .filter(
      (lease) => isUnder(spec.scope, lease.holder) && windowAt(spec.period, lease.at).key === key,
    )
    .reduce((sum, lease) => sum + leaseRest(lease)[spec.unit], 0);
  const window = { ...windowOf(fresh, key), spent: opening.spent, held };
  return { ...state, budgets: [...others, { ...fresh, windows: [window] }] };
}

function mark(
  state: LedgerState,
  { budgetId, window: key }: { readonly budgetId: string; readonly window: string },
  change: (window: BudgetWindow) => Partial<BudgetWindow>,
): LedgerState {
  const budgets = state.budgets.map((budget) =>
    budget.budgetId === budgetId
      ? putWindow(budget, { ...windowOf(budget, key), ...change(windowOf(budget, key)) })
      : budget,
  );
  return { ...state, budgets };
}

function grant(
  state: LedgerState,
  payload: LedgerEvents["lease.granted"],
  heardAt: number,
): LedgerState {
  const before = state.leases.get(payload.leaseId);
  const fresh = { settled: NOTHING, overrun: NOTHING, seq: 0 };
  return replace(state, before, { ...(before ?? fresh), ...payload, heardAt });
}

function settle(
  state: LedgerState,
  { type, payload }: Extract<LedgerDraft, { readonly type: "lease.settled" | "lease.closed" }>,
  heardAt: number,
): LedgerState {
  const before = state.leases.get(payload.leaseId);
  if (before === undefined) return state;
  const { settled, overrun, seq } = payload;
  const after: Lease = { ...before, settled, overrun, seq, heardAt };
  const next = replace(state, before, after);
  return type === "lease.settled" ? next : replace(next, after, undefined);
}

function correct(
  state: LedgerState,
  { holder, at, delta }: LedgerEvents["lease.corrected"],
): LedgerState {
  return count(state, { holder, at }, (unit) => ({ spent: delta[unit], held: 0, over: 0 }));
}

/** Exchanges a lease, or takes it up or drops it, and moves the counters of every budget above it. */
function replace(
  state: LedgerState,
  before: Lease | undefined,
  after: Lease | undefined,
): LedgerState {
  const lease = after ?? before;
  if (lease === undefined) return state;
  const leases = new Map(state.leases);
  if (after === undefined) leases.delete(lease.leaseId);
  else leases.set(lease.leaseId, after);
  // What a closed lease has spent stays spent: only what it held goes.
  const settledAfter = after?.settled ?? before?.settled ?? NOTHING;
  const overAfter = after?.overrun ?? before?.overrun ?? NOTHING;
  const moved = count({ ...state, leases }, lease, (unit) => ({
    spent: settledAfter[unit] - (before?.settled ?? NOTHING)[unit],
    held: restOf(after)[unit] - restOf(before)[unit],
    over: overAfter[unit] - (before?.overrun ?? NOTHING)[unit],
  }));
  return moved;
}

function restOf(lease: Lease | undefined): Amounts {
  return lease === undefined ? NOTHING : leaseRest(lease);
}

type Moves = Pick<BudgetWindow, "spent" | "held" | "over">;

function count(
  state: LedgerState,
  { holder, at }: Pick<Lease, "holder" | "at">,
  moves: (unit: BudgetUnit) => Moves,
): LedgerState {
  const budgets = state.budgets.map((budget) => {
    const { spent, held, over } = moves(budget.unit);
    if ((spent === 0 && held === 0 && over === 0) || !isUnder(budget.scope, holder)) return budget;
    const { key } = windowAt(budget.period, at);
    // A window that this budget has left behind, or that was over before it was set.
    const newest = budget.windows.at(-1)?.key ?? "";
    if (key < newest && !budget.windows.some((window) => window.key === key)) return budget;
    const window = windowOf(budget, key);
    return putWindow(budget, {
      ...window,
      spent: window.spent + spent,
      held: window.held + held,
      over: window.over + over,
    });
  });
  return { ...state, budgets };
}

/** Keeps the newest window, and older ones as long as something is held in them. */
function putWindow(budget: Budget, window: BudgetWindow): Budget {
  const all = [...budget.windows.filter(({ key }) => key !== window.key), window].toSorted((a, b) =>
    a.key < b.key ? -1 : 1,
  );
  return {
    ...budget,
    windows: all.filter(({ held }, index) => held > 0 || index === all.length - 1),
  };
}

export const LEDGER_FOLD: Fold<LedgerEvents, LedgerState> = {
  id: "ledger",
  version: 2,
  initial: () => EMPTY_LEDGER,
  evolve,
  dump: (state) => ({ ...state, leases: [...state.leases.values()] }) as unknown as Json,
  restore: (dumped) => {
    // Written by `dump` of this version: snapshots of another are never restored (L9).
    const { leases, ...rest } = dumped as unknown as Omit<LedgerState, "leases"> & {
      readonly leases: readonly Lease[];
    };
    return { ...rest, leases: new Map(leases.map((lease) => [lease.leaseId, lease])) };
  },
};
