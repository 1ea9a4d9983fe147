import { describe, expect, it } from "vitest";
import { CronerCron } from "#adapters/cron/croner-cron.ts";

const cron = new CronerCron();

/** The next times as local ones, with their offset. */
function local(
  expression: string,
  timeZone: string,
  from: string,
  count: number,
): readonly string[] {
  const text = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "longOffset",
  });
  const found: string[] = [];
  let after = Date.parse(from);
  while (found.length < count) {
    const next = cron.next({ expression, timeZone }, after);
    if (next === null) break;
    found.push(text.format(next).replaceAll(",", ""));
    after = next;
  }
  return found;
}

describe("local times of a day", () => {
  it("[P123] one that the spring skips comes when the gap ends, and once", () => {
    expect(local("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00Z", 3)).toEqual([
      "28/03 02:30 GMT+01:00",
      "29/03 03:00 GMT+02:00",
      "30/03 02:30 GMT+02:00",
    ]);
    // At midnight, and by half an hour.
    expect(local("30 0 * * *", "America/Santiago", "2026-09-05T12:00Z", 2)).toEqual([
      "06/09 01:00 GMT-03:00",
      "07/09 00:30 GMT-03:00",
    ]);
    expect(local("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z", 2)).toEqual([
      "04/10 02:30 GMT+11:00",
      "05/10 02:15 GMT+11:00",
    ]);
  });

  it("[P123] several that the spring skips come as one", () => {
    expect(local("15,45 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", 3)).toEqual([
      "29/03 03:00 GMT+02:00",
      "30/03 02:15 GMT+02:00",
      "30/03 02:45 GMT+02:00",
    ]);
  });

  it("[P123] one that the autumn has twice comes at the first", () => {
    expect(local("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", 2)).toEqual([
      "25/10 02:30 GMT+02:00",
      "26/10 02:30 GMT+01:00",
    ]);
    expect(local("15,45 1 * * *", "America/New_York", "2026-11-01T00:00Z", 3)).toEqual([
      "01/11 01:15 GMT-04:00",
      "01/11 01:45 GMT-04:00",
      "02/11 01:15 GMT-05:00",
    ]);
    // Asked from within the second of the two.
    expect(local("30 2 * * *", "Europe/Berlin", "2026-10-25T01:15Z", 1)).toEqual([
      "26/10 02:30 GMT+01:00",
    ]);
  });
});

it("[P123] an expression with a wildcard follows the clock over time as it passes", () => {
  expect(local("0 * * * *", "Europe/Berlin", "2026-10-24T23:30Z", 3)).toEqual([
    "25/10 02:00 GMT+02:00",
    "25/10 02:00 GMT+01:00",
    "25/10 03:00 GMT+01:00",
  ]);
  expect(local("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:15Z", 3)).toEqual([
    "29/03 01:30 GMT+01:00",
    "29/03 03:00 GMT+02:00",
    "29/03 03:30 GMT+02:00",
  ]);
});

it.each([
  ["* * * * * *", "UTC", "five fields"],
  ["@daily", "UTC", "five fields"],
  ["61 * * * *", "UTC", "out of range"],
  ["* * * *", "UTC", "five fields"],
  ["0 0 30 2 *", "UTC", "no day ever"],
  ["* * * * 8", "UTC", "out of range"],
  [`${"1,".repeat(60)}1 * * * *`, "UTC", "five fields"],
  ["0 0 * * *", "Mars/Olympus", "no time zone"],
  ["0 0 * * *", "+02:00", "no time zone"],
  ["0 0 * * *", "", "no time zone"],
])("[P128] %j in %j is refused in words: %s", (expression, timeZone, words) => {
  expect(cron.fault({ expression, timeZone })).toContain(words);
});

it("[P128] what is refused quotes no expression back, and the longest search ends soon", () => {
  expect(cron.fault({ expression: "secret * * * *", timeZone: "UTC" })).not.toContain("secret");
  const started = performance.now();
  expect(cron.fault({ expression: "0 0 31 2,4,6,9,11 *", timeZone: "UTC" })).toContain("no day");
  expect(performance.now() - started).toBeLessThan(2_000);
});
