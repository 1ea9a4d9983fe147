/** Numbers and times as people read them. */
const MICROS = 1_000_000;

/** Null is a cost that nobody knows: never $0. */
export function formatCost(micros: number | null): string {
  if (micros === null) return "cost unknown";
  const dollars = micros / MICROS;
  if (micros === 0) return "$0";
  return `$${dollars.toFixed(dollars < 0.01 ? 6 : dollars < 1 ? 4 : 2)}`;
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
