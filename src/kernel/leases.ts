/**
 * Leases as a thread sees them: a finite part of its tenant's budgets that one run may spend without asking (B41).
 *
 * What a lease has spent follows from this log alone: each outcome charges it, and a process that died is charged what
 * it had reserved. So the holder can say at any time what is settled, and nobody has to guess from a clock.
 */
import type { Amounts, BudgetUnit } from "./amounts.ts";
import type { ThreadDraft } from "./events.ts";
import { isWaitingForHumans, type LeaseState, type ThreadState } from "./state.ts";

export const BUDGET_UNITS: readonly BudgetUnit[] = ["costMicros", "tokens", "steps", "wallMs"];
export const NOTHING: Amounts = { costMicros: 0, tokens: 0, steps: 0, wallMs: 0 };
/** Longest time a model call is taken to last. A longer one is an overrun, like any other use above its reservation. */
export const MAX_CALL_WALL_MS = 600_000;

export function mapAmounts(of: (unit: BudgetUnit) => number): Amounts {
  return {
    costMicros: of("costMicros"),
    tokens: of("tokens"),
    steps: of("steps"),
    wallMs: of("wallMs"),
  };
}

/** What is left of a lease for calls to come. No call is open when it is asked: a thread makes one model call at a time. */
export function leaseRest({ granted, settled }: Pick<LeaseState, "granted" | "settled">): Amounts {
  return mapAmounts((unit) => Math.max(0, granted[unit] - settled[unit]));
}

export function covers(rest: Amounts, need: Amounts): boolean {
  return BUDGET_UNITS.every((unit) => rest[unit] >= need[unit]);
}

/** Follows from the log, so a process after a crash asks for the very lease that the one before it asked for (B46). */
export function nextLeaseId(state: ThreadState, logId: string, after: number = 0): string {
  return `${logId}-l${state.leases + after}`;
}

/** A lease belongs to one run, and not to one that waits for a person or is halted: what is left of it goes back (B44). */
export function closeUnusedLease({ lease, run, halt }: ThreadState): ThreadDraft | null {
  if (lease === null) return null;
  if (run === null || run.runId !== lease.runId) return closeLease(lease);
  const rests = isWaitingForHumans(run) || (halt !== null && run.phase.type !== "model_open");
  return rests ? closeLease(lease) : null;
}

export function closeLease({ leaseId, runId, settled, overrun }: LeaseState): ThreadDraft {
  return {
    type: "lease.closed",
    payload: { settled, overrun },
    scope: { run: runId, leaseId },
  };
}
