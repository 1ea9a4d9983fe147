/** ScheduleStub: what may be asked of a thread's schedules. Names differ from those of the SDK's own schedules. */
import type { Receipt } from "#kernel/commands.ts";
import type { ScheduleOverlap, ScheduleRule } from "#kernel/schedule-events.ts";
import type { Caller, Reply } from "./thread-gateway.ts";

/** As it is asked for: `every` counts from when it is set. */
export type RequestedRule =
  | Exclude<ScheduleRule, { readonly type: "every" }>
  | { readonly type: "every"; readonly seconds: number };
export interface ScheduleRequest {
  /** At most 40 characters; the same one again changes the schedule, or nothing. */
  readonly scheduleId: string;
  readonly rule: RequestedRule;
  readonly text: string;
  readonly overlap: ScheduleOverlap;
}
export interface ScheduleView extends ScheduleRequest {
  readonly paused: boolean;
  /** In the agent's file, which alone changes or deletes it. */
  readonly declared: boolean;
  /** Epoch ms; null while paused. */
  readonly nextAt: number | null;
  /** Of the newest firing that was not skipped. */
  readonly lastRun: string | null;
}

export interface ScheduleStub {
  putSchedule(caller: Caller, request: ScheduleRequest): Promise<Reply<ScheduleView>>;
  /** All of the thread, the next one first. */
  viewSchedules(caller: Caller): Promise<Reply<readonly ScheduleView[]>>;
  viewSchedule(caller: Caller, scheduleId: string): Promise<Reply<ScheduleView>>;
  /** Paused or not, what was due meanwhile is not made up for. */
  holdSchedule(caller: Caller, scheduleId: string, paused: boolean): Promise<Reply<ScheduleView>>;
  dropSchedule(caller: Caller, scheduleId: string): Promise<Reply<Receipt>>;
  /** Beside its timetable, which stays as it is. Refused as `run_active` where its overlap would skip it. */
  fireSchedule(caller: Caller, scheduleId: string, key: string | null): Promise<Reply<Receipt>>;
}
