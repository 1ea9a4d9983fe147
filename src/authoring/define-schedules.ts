/** What an agent's file says of its schedules (P127). Time zones and fields of cron are checked where they are known: in the object. */
import { MAX_SCHEDULE_CHARS, MAX_SCHEDULES, MIN_EVERY_SECONDS } from "#kernel/schedules.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";
import type { ScheduleRequest } from "#ports/schedule-stub.ts";

/** One message sent at its times; `skip` leaves a firing out while the run before is open, `queue` lets one wait. */
export type ScheduleSpec = {
  readonly text: string;
  /** Default `skip`. */
  readonly overlap?: "skip" | "queue";
} & (
  | { readonly everySeconds: number }
  /** Five fields, and an IANA name such as `Europe/Berlin`. */
  | { readonly cron: string; readonly timeZone: string }
);

const SCHEDULE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

export function toSchedules({
  name,
  schedules = {},
}: {
  readonly name: string;
  readonly schedules?: { readonly [name: string]: ScheduleSpec };
}): Pick<AgentDefinition, "schedules"> {
  const entries = Object.entries(schedules);
  if (entries.length === 0) return {};
  if (entries.length > MAX_SCHEDULES)
    throw new TypeError(`agent ${name}: at most ${MAX_SCHEDULES} schedules`);
  return { schedules: entries.map(([id, spec]) => toSchedule(name, id, spec)) };
}

function toSchedule(agent: string, scheduleId: string, spec: ScheduleSpec): ScheduleRequest {
  const { text, overlap = "skip" } = spec;
  const at = `agent ${agent}: schedule ${JSON.stringify(scheduleId)}`;
  if (!SCHEDULE_NAME.test(scheduleId))
    throw new TypeError(`${at}: a name has 1 to 40 of A-Z, a-z, 0-9, _ and -`);
  if (text.trim() === "" || text.length > MAX_SCHEDULE_CHARS)
    throw new TypeError(`${at}: text is required, at most ${MAX_SCHEDULE_CHARS} characters`);
  if ("cron" in spec) {
    const rule = { type: "cron", expression: spec.cron, timeZone: spec.timeZone } as const;
    return { scheduleId, rule, text, overlap };
  }
  const { everySeconds: seconds } = spec;
  if (!Number.isSafeInteger(seconds) || seconds < MIN_EVERY_SECONDS)
    throw new TypeError(`${at}: everySeconds must be ${MIN_EVERY_SECONDS} or more`);
  return { scheduleId, rule: { type: "every", seconds }, text, overlap };
}
