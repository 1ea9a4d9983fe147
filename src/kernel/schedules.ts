/**
 * Schedules of a thread: what its state knows of them, when each is due, and what stands in its way (P120 to P129).
 *
 * A due time is computed once, recorded, and never computed again: time zone data changes, logs do not. `every` counts
 * from where it was set, so that late firings shift nothing.
 */
import type { EventHeader } from "#ports/event-log.ts";
import type { Cron } from "#ports/cron.ts";
import type { ScheduleRule, ScheduleSpec, ScheduleState } from "./schedule-events.ts";
import type { ThreadState } from "./state.ts";

export const MAX_SCHEDULES = 20;
/** All are in the state of the thread, and in its snapshots. */
export const MAX_SCHEDULE_CHARS = 4_000;
export const MIN_EVERY_SECONDS = 60;
/** Of all schedules of a thread together, by UTC day: one each minute, and some. */
export const MAX_FIRINGS_PER_DAY = 2_000;

/** The first due time behind `after`; null when there is none left. */
export function dueAfter(rule: ScheduleRule, after: number, cron: Cron): number | null {
  if (rule.type === "once") return rule.at > after ? rule.at : null;
  if (rule.type === "cron") return cron.next(rule, after);
  const periodMs = rule.seconds * 1_000;
  const passed = Math.floor((after - rule.anchor) / periodMs);
  return rule.anchor + Math.max(1, passed + 1) * periodMs;
}

/** When the thread has to wake for a schedule; null when none waits. May lie in the past. */
export function nextFiring(state: ThreadState): number | null {
  if (state.halt !== null || state.erasure !== null) return null;
  return state.schedules
    .filter((schedule) => isFree(state, schedule))
    .reduce<number | null>((least, { nextAt }) => Math.min(least ?? nextAt, nextAt), null);
}

/** What is to fire now, the longest overdue first. */
export function dueSchedules(state: ThreadState, now: number): readonly ScheduleState[] {
  if (state.halt !== null || state.erasure !== null) return [];
  return state.schedules
    .filter((schedule) => schedule.nextAt <= now && isFree(state, schedule))
    .toSorted((a, b) => a.nextAt - b.nextAt);
}

/**
 * Whether its time is looked at. While its previous run is in the way it is not, so that a run that waits for a person
 * for days costs one skipped firing and not one a minute.
 */
function isFree(state: ThreadState, schedule: ScheduleState): boolean {
  return !schedule.paused && !isInTheWay(state, schedule);
}

/** Whether the run that it began last keeps it from beginning another. */
export function isInTheWay(
  { run, queue }: ThreadState,
  { lastRun, overlap }: Pick<ScheduleState, "lastRun" | "overlap">,
): boolean {
  if (lastRun === null) return false;
  if (queue.some(({ runId }) => runId === lastRun)) return true;
  return overlap === "skip" && run?.runId === lastRun;
}

export function isSameSpec(a: ScheduleSpec, b: ScheduleSpec): boolean {
  return a.text === b.text && a.overlap === b.overlap && isSameRule(a.rule, b.rule);
}

/** Where `every` counts from is no part of what was asked for. */
export function isSameRule(a: ScheduleRule, b: ScheduleRule): boolean {
  if (a.type === "once") return b.type === "once" && a.at === b.at;
  if (a.type === "every") return b.type === "every" && a.seconds === b.seconds;
  return b.type === "cron" && a.expression === b.expression && a.timeZone === b.timeZone;
}

/** A run has ended: whoever fired it is free again. */
export function freeSchedules(state: ThreadState, { run, at }: EventHeader): ThreadState {
  if (!state.schedules.some(({ lastRun }) => lastRun === run)) return state;
  const schedules = state.schedules.map((schedule) =>
    schedule.lastRun === run ? { ...schedule, freedAt: at } : schedule,
  );
  return { ...state, schedules };
}

/** With an erasure of the thread nothing goes on by itself: what people set is gone, the agent's own rests. */
export function quietSchedules(schedules: readonly ScheduleState[]): readonly ScheduleState[] {
  return schedules
    .filter(({ declared }) => declared)
    .map((schedule) => ({ ...schedule, paused: true, lastRun: null, freedAt: null }));
}
