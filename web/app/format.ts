/** Numbers and times as people read them. */
const MICROS = 1_000_000;

/** Null is a cost that nobody knows: never $0. */
export function formatCost(micros: number | null): string {
  if (micros === null) return "price unknown";
  const dollars = micros / MICROS;
  if (micros === 0) return "$0";
  return `$${dollars.toFixed(dollars < 0.01 ? 6 : dollars < 1 ? 4 : 2)}`;
}

export interface Cost {
  /** Of the calls whose price is known; null where there is none. */
  readonly costMicros: number | null;
  readonly recoveryMicros: number;
  readonly estimatedMicros: number;
  /** Model calls whose price nobody knows. */
  readonly unpriced: number;
}

/** What nobody knows is said, and never shown as nothing (B23). */
export function formatKnownCost({
  costMicros,
  unpriced,
}: Pick<Cost, "costMicros" | "unpriced">): string {
  if (unpriced === 0) return formatCost(costMicros);
  if (costMicros === null || costMicros === 0) return "price unknown";
  const unknown = unpriced === 1 ? "1 call" : `${unpriced} calls`;
  return `${formatCost(costMicros)} + price of ${unknown} unknown`;
}

export function sumCosts(costs: readonly Cost[]): Cost {
  const sum = (of: (cost: Cost) => number): number =>
    costs.reduce((total, cost) => total + of(cost), 0);
  return {
    costMicros: sum(({ costMicros }) => costMicros ?? 0),
    recoveryMicros: sum(({ recoveryMicros }) => recoveryMicros),
    estimatedMicros: sum(({ estimatedMicros }) => estimatedMicros),
    unpriced: sum(({ unpriced }) => unpriced),
  };
}

/** Of what budgets count. */
export function formatAmount(
  value: number,
  unit: "costMicros" | "tokens" | "steps" | "wallMs",
): string {
  switch (unit) {
    case "costMicros":
      return formatCost(value);
    case "tokens":
      return plural(value, "token");
    case "steps":
      return plural(value, "model call");
    case "wallMs":
      return formatDuration(value);
  }
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });

export function formatAgo(at: number, now: number = Date.now()): string {
  const minutes = Math.round((at - now) / 60_000);
  if (minutes > -1) return "just now";
  if (minutes > -60) return relative.format(minutes, "minute");
  if (minutes > -1_440) return relative.format(Math.round(minutes / 60), "hour");
  return relative.format(Math.round(minutes / 1_440), "day");
}

export function formatTime(at: number): string {
  return new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

export function plural(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
