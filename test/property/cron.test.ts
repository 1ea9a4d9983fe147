/** Cron over the changes of several time zones, against every minute of a week read through Intl. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { CronerCron } from "#adapters/cron/croner-cron.ts";
import "#test/support/property-seed.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const cron = new CronerCron();

/** Days around which the clocks change: by an hour, by half of one, at midnight, on the other side of the world. */
const CHANGES: readonly (readonly [string, string])[] = [
  ["Europe/Berlin", "2026-03-29"],
  ["Europe/Berlin", "2026-10-25"],
  ["America/New_York", "2026-03-08"],
  ["America/New_York", "2026-11-01"],
  ["Australia/Lord_Howe", "2026-04-05"],
  ["Australia/Lord_Howe", "2026-10-04"],
  ["America/Santiago", "2026-09-06"],
  ["Pacific/Auckland", "2026-09-27"],
  ["Asia/Kolkata", "2026-03-29"],
  ["UTC", "2026-03-29"],
];

interface Local {
  readonly day: string;
  readonly minuteOfDay: number;
}
/** What clocks on the wall show, minute by minute, from the noon before to the noon behind the change. */
function readClock(timeZone: string, date: string): readonly (Local & { readonly at: number })[] {
  const format = new Intl.DateTimeFormat("en-CA", {
    timeZone,
    dateStyle: "short",
    timeStyle: "short",
    hour12: false,
    hourCycle: "h23",
  });
  const from = Date.parse(`${date}T00:00Z`) - DAY_MS;
  return Array.from({ length: 3 * 1_440 }, (_, index) => {
    const at = from + index * MINUTE_MS;
    const [day = "", time = ""] = format.format(at).split(", ");
    const [hour = 0, minute = 0] = time.split(":").map(Number);
    return { at, day, minuteOfDay: hour * 60 + minute };
  });
}
const CLOCKS = CHANGES.map(([timeZone, date]) => ({
  timeZone,
  minutes: readClock(timeZone, date),
}));
const clock = fc.constantFrom(...CLOCKS);

function firings(
  expression: string,
  timeZone: string,
  from: number,
  to: number,
): readonly number[] {
  const found: number[] = [];
  for (let at: number | null = from - 1; at !== null;) {
    at = cron.next({ expression, timeZone }, at);
    if (at === null || at >= to) break;
    found.push(at);
  }
  return found;
}

it("[P123] local times of a day: each day fires each once, what it skips as one at the end of the gap, what it has twice at the first", () => {
  const times = fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 3 });
  const minutesOf = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(clock, times, minutesOf, ({ timeZone, minutes }, hours, within) => {
      const wanted = new Set(hours.flatMap((hour) => within.map((minute) => hour * 60 + minute)));
      const seen = new Set<string>();
      const expected = minutes.flatMap(({ at, day, minuteOfDay }, index) => {
        const before = minutes[index - 1];
        if (before === undefined) return [];
        // Times of this day that the clock jumped over to get here.
        const from = before.day === day ? before.minuteOfDay + 1 : 0;
        const skipped = Array.from({ length: minuteOfDay - from }, (_, step) => from + step);
        const isDue = [...skipped, minuteOfDay].some(
          (time) => wanted.has(time) && !seen.has(`${day} ${time}`),
        );
        for (const time of [...skipped, minuteOfDay]) seen.add(`${day} ${time}`);
        return isDue ? [at] : [];
      });
      const [first] = minutes;
      const last = minutes.at(-1);
      if (first === undefined || last === undefined) throw new Error("no minutes");
      // From behind the first minute, whose day has begun before it.
      const expression = `${within.join(",")} ${hours.join(",")} * * *`;
      const from = first.at + MINUTE_MS;
      expect(firings(expression, timeZone, from, last.at + MINUTE_MS)).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

it("[P123] every so many minutes: exactly the minutes whose local reading fits, in order", () => {
  fc.assert(
    fc.property(clock, fc.constantFrom(1, 5, 15, 20, 30), ({ timeZone, minutes }, step) => {
      const expected = minutes
        .filter(({ minuteOfDay }) => (minuteOfDay % 60) % step === 0)
        .map(({ at }) => at);
      const [first] = minutes;
      const last = minutes.at(-1);
      if (first === undefined || last === undefined) throw new Error("no minutes");
      expect(firings(`*/${step} * * * *`, timeZone, first.at, last.at + MINUTE_MS)).toEqual(
        expected,
      );
    }),
    { numRuns: 10 },
  );
});
