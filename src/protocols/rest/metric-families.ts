/** Metrics as families, from which both encodings are made, so that text and JSON say the same numbers (H56). */
import type { CounterName } from "#kernel/metrics.ts";
import type { AgentHealth, MetricsSnapshot } from "#ports/metrics.ts";

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
export interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly samples: readonly Sample[];
}

interface CounterFamily {
  readonly counter: CounterName;
  readonly name: string;
  readonly help: string;
  /** What the counter is told apart by besides the agent. */
  readonly label: string | null;
}
const COUNTERS: readonly CounterFamily[] = [
  {
    counter: "runs",
    name: "holdfast_runs_total",
    help: "Runs that were started, and that ended, by how.",
    label: "status",
  },
  {
    counter: "steps",
    name: "holdfast_steps_total",
    help: "Steps: model calls that were answered.",
    label: null,
  },
  {
    counter: "tool_calls",
    name: "holdfast_tool_calls_total",
    help: "Tool calls by the status of their result.",
    label: "status",
  },
  {
    counter: "recoveries",
    name: "holdfast_recoveries_total",
    help: "Calls whose process did not survive them.",
    label: "call",
  },
  {
    counter: "recovery_micros",
    name: "holdfast_recovery_micros_total",
    help: "Micro-dollars that were paid again after a crash.",
    label: null,
  },
  {
    counter: "guard_nudges",
    name: "holdfast_guard_nudges_total",
    help: "Reminders of the loop guard, by pattern.",
    label: "pattern",
  },
  {
    counter: "guard_stops",
    name: "holdfast_guard_stops_total",
    help: "Runs that the loop guard ended, by pattern.",
    label: "pattern",
  },
  {
    counter: "budget_blocks",
    name: "holdfast_budget_blocks_total",
    help: "Calls and runs that a cap or budget stopped, or moved to a cheaper route.",
    label: "reason",
  },
  {
    counter: "approvals",
    name: "holdfast_approvals_total",
    help: "Approvals that were asked for, and that were decided, by how.",
    label: "decision",
  },
];

const HEALTH: readonly {
  readonly name: string;
  readonly type: Family["type"];
  readonly help: string;
  readonly value: (health: AgentHealth, now: number) => number;
}[] = [
  {
    name: "holdfast_outbox_lagging_threads",
    type: "gauge",
    help: "Threads whose outbox had something undelivered when it last reported.",
    value: ({ laggingThreads }) => laggingThreads,
  },
  {
    name: "holdfast_outbox_lag_events",
    type: "gauge",
    help: "Events that the slowest consumer of each thread was not told of, summed.",
    value: ({ lagEvents }) => lagEvents,
  },
  {
    name: "holdfast_outbox_lag_seconds",
    type: "gauge",
    help: "Age of the oldest of these events.",
    value: ({ lagSince }, now) =>
      lagSince === null ? 0 : Math.max(0, Math.floor((now - lagSince) / 1_000)),
  },
  {
    name: "holdfast_wakes_total",
    type: "counter",
    help: "Wakes of threads by their alarm.",
    value: ({ wakes }) => wakes,
  },
  {
    name: "holdfast_wakes_this_hour",
    type: "gauge",
    help: "Of these in the current hour, UTC.",
    value: ({ wakesThisHour }) => wakesThisHour,
  },
  {
    name: "holdfast_wakes_this_hour_max",
    type: "gauge",
    help: "Wakes in the current hour of the thread that has most.",
    value: ({ busiestThisHour }) => busiestThisHour,
  },
  {
    name: "holdfast_wake_breaker_trips_total",
    type: "counter",
    help: "How often a thread was woken again and again without progress, and is woken less often since.",
    value: ({ trips }) => trips,
  },
  {
    name: "holdfast_wake_breaker_open_threads",
    type: "gauge",
    help: "Threads for which that holds now.",
    value: ({ stalledThreads }) => stalledThreads,
  },
];

export function toFamilies(snapshot: MetricsSnapshot, now: number): readonly Family[] {
  return [
    ...COUNTERS.map((family) => toCounter(family, snapshot)),
    {
      name: "holdfast_runs_active",
      type: "gauge",
      help: "Runs that were started and have not ended.",
      samples: activeRuns(snapshot),
    },
    {
      name: "holdfast_approvals_open",
      type: "gauge",
      help: "Approvals that wait for a person.",
      samples: snapshot.openApprovals.map(({ agent, open }) => ({
        labels: { agent },
        value: open,
      })),
    },
    ...HEALTH.map(({ value, ...family }) => ({
      ...family,
      samples: snapshot.health.map((health) => ({
        labels: { agent: health.agent },
        value: value(health, now),
      })),
    })),
  ];
}

function toCounter(
  { counter, label: by, ...family }: CounterFamily,
  { counters }: MetricsSnapshot,
): Family {
  const samples = counters
    .filter((each) => each.counter === counter)
    .map(({ agent, label, value }) => ({
      labels: by === null ? { agent } : { agent, [by]: label },
      value,
    }));
  return { ...family, type: "counter", samples };
}

/** Never below zero: where a log was pruned before it was counted, an end may be known without its start. */
function activeRuns({ counters }: MetricsSnapshot): readonly Sample[] {
  const active = new Map<string, number>();
  for (const { counter, agent, label, value } of counters) {
    if (counter !== "runs") continue;
    active.set(agent, (active.get(agent) ?? 0) + (label === "started" ? value : -value));
  }
  return [...active].map(([agent, value]) => ({ labels: { agent }, value: Math.max(0, value) }));
}
