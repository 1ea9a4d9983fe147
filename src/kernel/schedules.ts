/**
 * Schedules of a thread: what its state knows of them, when each is due, and what stands in its way (P120 to P129).
 *
 * A due time is computed once, recorded, and never computed again: time zone data changes, logs do not. `every` counts
 * from where it was set, so that late firings shift nothing.
 */
import type { EventHeader } from "#ports/event-log.ts";
import type { OutputSpec } from "#ports/model.ts";
import type { Cron } from "#ports/cron.ts";
import type { AgentManifest } from "./manifest.ts";
import type { ThreadState } from "./state.ts";

/** PERSISTED CONTRACT. Times are epoch ms. */
export type ScheduleRule =
  | { readonly type: "once"; readonly at: number }
  | { readonly type: "every"; readonly seconds: number; readonly anchor: number }
  | { readonly type: "cron"; readonly expression: string; readonly timeZone: string };
/** While its previous run is open: `skip` leaves a firing out, `queue` lets one wait. */
export type ScheduleOverlap = "skip" | "queue";
/** What a schedule is, apart from how far it is. */
export interface ScheduleSpec {
  readonly scheduleId: string;
  readonly rule: ScheduleRule;
  /** The message that a firing sends. */
  readonly text: string;
  readonly overlap: ScheduleOverlap;
}
export type ScheduleSkip = "overlap" | "queue_full" | "daily_limit" | "definition_unavailable";

export interface ScheduleState extends ScheduleSpec {
  /** Of the event that set it: what later events name it by. */
  readonly seq: number;
  /** Declared in the agent's file, which alone may change or delete it. */
  readonly declared: boolean;
  readonly paused: boolean;
  readonly nextAt: number;
  /** Of the newest firing that was not skipped. */
  readonly lastRun: string | null;
  /** When that run ended, once it has. */
  readonly freedAt: number | null;
}

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

/** PERSISTED CONTRACT. `of` is the seq of the event that set the schedule; none but the first holds words of a person. */
export interface ScheduleEvents {
  readonly "schedule.set": ScheduleSet;
  /** The same, from the agent's file. */
  readonly "schedule.declared": ScheduleSet;
  readonly "schedule.paused": {
    readonly of: number;
    readonly paused: boolean;
    readonly nextAt: number;
  };
  readonly "schedule.deleted": { readonly of: number };
  /** In one append with the message that it sends. Header: `run` is the one that begins. */
  readonly "schedule.fired": {
    readonly of: number;
    readonly dueAt: number;
    /** Null: there is no time left, and the schedule ends with this firing. */
    readonly nextAt: number | null;
    /** Why no message was sent, or null. */
    readonly skipped: ScheduleSkip | null;
  };
}
interface ScheduleSet extends ScheduleSpec {
  readonly paused: boolean;
  readonly nextAt: number;
}

/** What may be asked. Due times are computed by the host, which has the time zones. */
export type ScheduleCommand =
  | {
      readonly type: "set_schedule";
      readonly spec: ScheduleSpec;
      readonly nextAt: number;
      readonly declared: boolean;
    }
  | {
      readonly type: "pause_schedule";
      readonly scheduleId: string;
      readonly paused: boolean;
      readonly nextAt: number;
    }
  | { readonly type: "delete_schedule"; readonly scheduleId: string; readonly declared: boolean }
  | {
      readonly type: "fire_schedule";
      readonly of: number;
      /** The recorded time that has come, or now where somebody asks. */
      readonly dueAt: number;
      readonly nextAt: number | null;
      readonly asked: boolean;
      readonly now: number;
      readonly runId: string;
      readonly messageId: string;
      /** Null where the agent cannot run. */
      readonly agent: {
        readonly manifest: AgentManifest;
        readonly definition: string;
        readonly output: OutputSpec | null;
      } | null;
    };
export type ScheduleRejection =
  | { readonly reason: "schedule_unknown" }
  | { readonly reason: "schedule_declared" }
  | { readonly reason: "schedules_full"; readonly limit: number }
  | { readonly reason: "daily_limit"; readonly limit: number };
