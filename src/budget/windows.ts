/** Windows of budgets: UTC days, UTC months, or all time. A lease belongs to the windows of the moment it was granted in. */
import type { BudgetPeriod } from "#kernel/amounts.ts";

export interface WindowSpan {
  /** Ascends with time within one period. */
  readonly key: string;
  readonly from: number;
  /** Null: it never ends. */
  readonly until: number | null;
}

export const DAY_MS = 86_400_000;

export function windowAt(period: BudgetPeriod, at: number): WindowSpan {
  const date = new Date(at);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  switch (period) {
    case "day": {
      const from = dayOf(at) * DAY_MS;
      return { key: date.toISOString().slice(0, 10), from, until: from + DAY_MS };
    }
    case "month":
      return {
        key: date.toISOString().slice(0, 7),
        from: Date.UTC(year, month),
        until: Date.UTC(year, month + 1),
      };
    case "total":
      return { key: "total", from: 0, until: null };
  }
}

export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

/** The shortest period ends first: from here on a lease granted at `at` would be of another day. */
export function leaseUntil(at: number): number {
  return (dayOf(at) + 1) * DAY_MS;
}
