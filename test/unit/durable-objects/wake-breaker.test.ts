/** The breaker of alarms that get nowhere, over stored counts: each wake here is a process of its own. */
import { describe, expect, it } from "vitest";
import { WakeBreaker } from "#durable-objects/agent/wake-breaker.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import { openNodeLog } from "#test/support/node-log.ts";

const BASE_MS = 20_000;
const HOUR_MS = 3_600_000;

function open() {
  const { database } = openNodeLog(THREAD_CATALOGUE);
  /** A new instance, as after a crash. */
  const woken = (mark: string) => new WakeBreaker(database, BASE_MS).woken(mark);
  const rows = (): number =>
    Number(database.exec("SELECT count(*) AS n FROM meta WHERE key = 'wakes'")[0]?.["n"]);
  return { woken, rows };
}

describe("WakeBreaker", () => {
  it("[H50] ten wakes without progress pass, then each doubles the delay up to an hour", () => {
    const { woken } = open();
    const delays = Array.from({ length: 20 }, () => woken("7").delayMs);
    expect(delays.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 0));
    expect(delays.slice(10, 13)).toEqual([2 * BASE_MS, 4 * BASE_MS, 8 * BASE_MS]);
    expect(delays.at(-1)).toBe(HOUR_MS);
    expect(woken("7").incident).toContain("woken 21 times without progress");
  });

  it("[H50] progress ends it at once, and frequent wakes that get somewhere are never delayed", () => {
    const { woken, rows } = open();
    for (let wake = 0; wake < 15; wake += 1) woken("7");
    expect(woken("8")).toEqual({ delayMs: 0, incident: null });
    for (let wake = 0; wake < 200; wake += 1)
      expect(woken(`${9 + Math.floor(wake / 9)}`)).toEqual({ delayMs: 0, incident: null });
    expect(rows()).toBe(1);
  });
});
