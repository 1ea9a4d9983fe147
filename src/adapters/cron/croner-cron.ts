/** Cron over croner, and the time zones of the platform's Intl. */
import { Cron as Pattern } from "croner";
import type { Cron, CronRule } from "#ports/cron.ts";

/** Letters, digits and the signs of the five fields; a longer one is no timetable. */
const EXPRESSION = /^[0-9A-Za-z*/,#? -]{1,100}$/;
/** Offsets such as `+02:00` know no daylight saving time; who wants one names `UTC` or `Etc/GMT-2`. */
const TIME_ZONE = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

export class CronerCron implements Cron {
  fault({ expression, timeZone }: CronRule): string | null {
    if (!TIME_ZONE.test(timeZone) || !isTimeZone(timeZone))
      return `${JSON.stringify(timeZone.slice(0, 64))} is no time zone; give an IANA name such as Europe/Berlin`;
    if (!EXPRESSION.test(expression) || expression.trim().split(/ +/).length !== 5)
      return "a cron expression has five fields: minute, hour, day of month, month, day of week";
    try {
      return open({ expression, timeZone }).nextRun() === null
        ? "no day ever fits this cron expression"
        : null;
    } catch {
      return "a field of this cron expression is out of range or not understood";
    }
  }

  next(rule: CronRule, after: number): number | null {
    return open(rule).nextRun(new Date(after))?.getTime() ?? null;
  }
}

/** Without a function it schedules nothing, and keeps no timer. */
function open({ expression, timeZone }: CronRule): Pattern {
  return new Pattern(expression.trim(), {
    timezone: timeZone,
    paused: true,
    mode: "5-part",
    fixedTimeRule: "no-wildcard",
  });
}

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
