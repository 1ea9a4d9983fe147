/**
 * Metrics: what one event of a thread adds to the counters of its tenant (H51). Pure, as #kernel/spend.ts is.
 *
 * An event that was erased before it was counted still counts by its type; what only its payload said is `unknown`.
 */
import type { RunFailure, ThreadEvent, ThreadEventType } from "./events.ts";
import { spendOf } from "./spend.ts";

export type CounterName =
  | "runs"
  | "steps"
  | "tool_calls"
  | "recoveries"
  | "recovery_micros"
  | "guard_nudges"
  | "guard_stops"
  | "budget_blocks"
  | "approvals";

export interface CounterEntry {
  readonly counter: CounterName;
  /** The one thing it is told apart by; empty where there is none. */
  readonly label: string;
  /** An integer; a correction may make it negative. */
  readonly value: number;
}

/** The events that may add something. */
export const METRIC_EVENTS = [
  "run.started",
  "run.completed",
  "run.failed",
  "run.cancelled",
  "model.answered",
  "model.failed",
  "model.interrupted",
  "usage.corrected",
  "tool.finished",
  "tool.refused",
  "tool.interrupted",
  "context.added",
  "route.changed",
  "approval.requested",
  "approval.decided",
] as const satisfies readonly ThreadEventType[];

/** Failures by which money or tokens stopped a run. */
const BUDGET_FAILURES: ReadonlySet<RunFailure> = new Set([
  "budget_exceeded",
  "cost_cap",
  "token_cap",
  "price_unknown",
  "ledger_unavailable",
]);

/** The entries of some events of one thread, one a counter and label, in their order. */
export function countUp(events: Iterable<ThreadEvent>): readonly CounterEntry[] {
  const entries = new Map<string, CounterEntry>();
  for (const event of events) {
    for (const entry of [...countOf(event), ...recoveryCost(event)]) {
      const id = `${entry.counter} ${entry.label}`;
      const known = entries.get(id)?.value ?? 0;
      entries.set(id, { ...entry, value: known + entry.value });
    }
  }
  return [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

function countOf({ type, payload }: ThreadEvent): readonly CounterEntry[] {
  switch (type) {
    case "run.started":
      return [one("runs", "started")];
    case "run.completed":
      return payload?.finish === "loop_guard"
        ? [one("runs", "completed"), one("guard_stops", payload.loop?.pattern ?? "unknown")]
        : [one("runs", "completed")];
    case "run.failed":
      return payload !== null && BUDGET_FAILURES.has(payload.reason)
        ? [one("runs", "failed"), one("budget_blocks", payload.reason)]
        : [one("runs", "failed")];
    case "run.cancelled":
      return [one("runs", "cancelled")];
    case "model.answered":
      return [one("steps", "")];
    case "model.interrupted":
      return [one("recoveries", "model")];
    case "tool.interrupted":
      return [one("recoveries", "tool")];
    case "tool.finished":
      return [one("tool_calls", payload?.result.status ?? "unknown")];
    case "tool.refused":
      return payload?.refusal.code === "budget_exhausted"
        ? [one("tool_calls", "refused"), one("budget_blocks", "budget_exhausted")]
        : [one("tool_calls", "refused")];
    case "context.added":
      return payload?.loop === undefined ? [] : [one("guard_nudges", payload.loop.pattern)];
    case "route.changed":
      return [one("budget_blocks", "cheaper_route")];
    case "approval.requested":
      return [one("approvals", "requested")];
    case "approval.decided":
      return [one("approvals", payload?.decision ?? "unknown")];
    default:
      return [];
  }
}

/** Money that was paid again after a crash, as spend has it, corrections included. */
function recoveryCost(event: ThreadEvent): readonly CounterEntry[] {
  const micros = spendOf(event)
    .filter(({ kind }) => kind === "recovery")
    .reduce((sum, entry) => sum + entry.micros, 0);
  return micros === 0 ? [] : [{ counter: "recovery_micros", label: "", value: micros }];
}

function one(counter: CounterName, label: string): CounterEntry {
  return { counter, label, value: 1 };
}
