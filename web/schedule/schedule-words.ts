/** When a schedule fires, in words. */
import type { Schedule } from "#client/types.ts";
import { formatTime, plural } from "../app/format.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function toRuleWords({ rule }: Pick<Schedule, "rule">): string {
  switch (rule.type) {
    case "once":
      return "Once";
    case "every":
      return `Every ${toPeriod(rule.seconds)}`;
    case "cron":
      return `At ${rule.expression} in ${rule.timeZone}`;
  }
}

function toPeriod(seconds: number): string {
  for (const [size, noun] of [
    [DAY, "day"],
    [HOUR, "hour"],
    [MINUTE, "minute"],
  ] as const) {
    if (seconds % size === 0) return seconds === size ? noun : plural(seconds / size, noun);
  }
  return plural(seconds, "second");
}

/** In its own time zone, and in the reader's where that is another. */
export function toNextWords({ rule, nextAt }: Pick<Schedule, "rule" | "nextAt">): string {
  if (nextAt === null) return "Paused";
  const here = formatTime(nextAt);
  if (rule.type !== "cron") return here;
  const there = new Date(nextAt).toLocaleString([], {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone: rule.timeZone,
  });
  return there === here
    ? `${there} (${rule.timeZone})`
    : `${there} (${rule.timeZone}), ${here} here`;
}
