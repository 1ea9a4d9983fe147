/**
 * What a run spent, in all: summed over its outcomes by the fold, and said by the event that ends the run. So a list of
 * runs needs no write for each of their calls, and whoever reads the end of a run need not read the run.
 */
import type { EventScope } from "#ports/event-log.ts";
import type { RunTotals } from "./amounts.ts";
import type {
  CostKind,
  ThreadDraft,
  ThreadEvent,
  ThreadEvents,
  ThreadEventType,
} from "./events.ts";
import { isRunEnd } from "./run-events.ts";
import type { ThreadState } from "./state.ts";

export const NO_TOTALS: RunTotals = {
  steps: 0,
  costMicros: 0,
  recoveryMicros: 0,
  estimatedMicros: 0,
  unpriced: 0,
  tokens: 0,
};

/** An event, or a draft that is to become one. Of an erased one the header still tells the cost. */
type Spending = {
  readonly [T in ThreadEventType]: {
    readonly type: T;
    readonly payload: ThreadEvents[T] | null;
  };
}[ThreadEventType];

/** The totals after `event`; the same object where it cost nothing. */
export function addToTotals(totals: RunTotals, event: ThreadEvent): RunTotals {
  return add(totals, event, event.header);
}

/** The rule as a value, for projections: adapters import types of the kernel only. */
export const TOTALS_RULE = { none: NO_TOTALS, add: addToTotals } as const;
export type TotalsRule = typeof TOTALS_RULE;

/** Drafts that end the live run of `state`, saying what it spent up to there. The same list where none does. */
export function withTotals(
  { run }: ThreadState,
  drafts: readonly ThreadDraft[],
): readonly ThreadDraft[] {
  if (run === null || !drafts.some(({ type }) => isRunEnd(type))) return drafts;
  let { totals } = run;
  return drafts.map((draft): ThreadDraft => {
    if (draft.scope?.run !== run.runId) return draft;
    switch (draft.type) {
      case "run.completed":
        return { ...draft, payload: { ...draft.payload, totals } };
      case "run.failed":
        return { ...draft, payload: { ...draft.payload, totals } };
      case "run.cancelled":
        return { ...draft, payload: { ...draft.payload, totals } };
      default:
        totals = add(totals, draft, draft.scope);
        return draft;
    }
  });
}

function add(totals: RunTotals, event: Spending, scope: EventScope | undefined): RunTotals {
  switch (event.type) {
    case "model.answered": {
      const spent = outcome(totals, event, scope);
      return { ...spent, steps: Math.max(spent.steps, scope?.step ?? 0) };
    }
    case "model.failed":
    case "model.interrupted":
    case "tool.finished":
      return outcome(totals, event, scope);
    case "usage.corrected":
      return event.payload === null ? totals : corrected(totals, event.payload);
    default:
      return totals;
  }
}

type OutcomeType = "model.answered" | "model.failed" | "model.interrupted" | "tool.finished";

function outcome(
  totals: RunTotals,
  { type, payload }: Extract<Spending, { readonly type: OutcomeType }>,
  scope: EventScope | undefined,
): RunTotals {
  const cost = scope?.costMicros ?? 0;
  return {
    steps: totals.steps,
    costMicros: totals.costMicros + cost,
    recoveryMicros: totals.recoveryMicros + (scope?.costKind === "recovery" ? cost : 0),
    estimatedMicros: totals.estimatedMicros + (scope?.costKind === "estimated" ? cost : 0),
    // A tool without a cost is free; a model without one is not known.
    unpriced: totals.unpriced + (type !== "tool.finished" && scope?.costMicros == null ? 1 : 0),
    tokens: totals.tokens + (payload?.settlement.tokens ?? 0),
  };
}

/** Out of the kind that it was booked under and into the one that it is. */
function corrected(
  totals: RunTotals,
  { before, after }: ThreadEvents["usage.corrected"],
): RunTotals {
  const of = (kind: CostKind): number =>
    (after.kind === kind ? after.settlement.costMicros : 0) -
    (before.kind === kind ? before.settlement.costMicros : 0);
  return {
    steps: totals.steps,
    costMicros: totals.costMicros + after.settlement.costMicros - before.settlement.costMicros,
    recoveryMicros: totals.recoveryMicros + of("recovery"),
    estimatedMicros: totals.estimatedMicros + of("estimated"),
    unpriced:
      totals.unpriced +
      (after.settlement.unpriced === true ? 1 : 0) -
      (before.settlement.unpriced === true ? 1 : 0),
    tokens: totals.tokens + after.settlement.tokens - before.settlement.tokens,
  };
}
