/** What schedules are, in events, commands and state (P120 to P129). */
import type { OutputSpec } from "#ports/model.ts";
import type { AgentManifest } from "./manifest.ts";

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
