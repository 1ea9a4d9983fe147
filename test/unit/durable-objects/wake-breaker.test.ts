/** The breaker of alarms that get nowhere, over stored counts: each wake here is a process of its own. */
import { describe, expect, it } from "vitest";
import { WakeBreaker } from "#durable-objects/agent/wake-breaker.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import { openNodeLog } from "#test/support/node-log.ts";

const BASE_MS = 20_000;
const NOW = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

function open() {
  const { database } = openNodeLog(THREAD_CATALOGUE);
  /** A new instance, as after a crash. */
  const woken = (mark: string) =>
    new WakeBreaker(database, BASE_MS).woken(mark, { alarms: 1, at: NOW });
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
    expect(woken("8")).toEqual({ delayMs: 0, incident: null, isOver: true });
    for (let wake = 0; wake < 200; wake += 1)
      expect(woken(`${9 + Math.floor(wake / 9)}`)).toEqual({
        delayMs: 0,
        incident: null,
        isOver: false,
      });
    expect(rows()).toBe(1);
  });

  it("[H53] what it reports is a total that survives the process, and by the hour", () => {
    const { database } = openNodeLog(THREAD_CATALOGUE);
    const report = (alarms: number, at: number) =>
      new WakeBreaker(database, BASE_MS).state("7", { alarms, at });
    expect(report(0, NOW)).toMatchObject({ wakes: 0, wakesInHour: 0 });
    expect(database.exec("SELECT 1 FROM meta WHERE key = 'wakes'")).toEqual([]);
    expect(report(3, NOW)).toMatchObject({ wakes: 3, wakesInHour: 3 });
    expect(report(2, NOW + 60_000)).toMatchObject({ wakes: 5, wakesInHour: 5 });
    const later = { wakes: 6, wakesInHour: 1, hour: Math.floor(NOW / HOUR_MS) + 1 };
    expect(report(1, NOW + HOUR_MS)).toMatchObject(later);
  });

  it("[H54] is open from the eleventh wake without progress until there is some, and counts each time it opens", () => {
    const { database } = openNodeLog(THREAD_CATALOGUE);
    const breaker = new WakeBreaker(database, BASE_MS);
    const stall = (mark: string, times: number) => {
      for (let wake = 0; wake < times; wake += 1)
        breaker.woken(mark, { alarms: 1, at: NOW + wake });
    };
    const state = (mark: string) => breaker.state(mark, { alarms: 0, at: NOW });
    stall("7", 10);
    expect(state("7")).toMatchObject({ trips: 0, stalledWakes: 0, stalledSince: null });
    stall("7", 4);
    expect(state("7")).toMatchObject({ trips: 1, stalledWakes: 14, stalledSince: NOW });
    expect(state("8")).toMatchObject({ trips: 1, stalledWakes: 0, stalledSince: null });
    stall("8", 11);
    expect(state("8")).toMatchObject({ trips: 2, stalledWakes: 11, wakes: 25 });
  });
});
