/** What an agent says of its schedules (P49, P127). Time zones and fields of cron are checked where they are known. */
import { MAX_SCHEDULE_CHARS, MAX_SCHEDULES, MIN_EVERY_SECONDS } from "#kernel/schedules.ts";
import type { PinnedSchedule } from "#kernel/manifest.ts";
import type { AgentDefinition } from "#ports/agent-definition.ts";

/** One message sent at its times; `skip` leaves a firing out while the run before is open, `queue` lets one wait. */
export type ScheduleSpec = {
  readonly text: string;
  /** Default `skip`. */
  readonly overlap?: "skip" | "queue" | undefined;
} & (
  | { readonly everySeconds: number }
  /** Five fields, and an IANA name such as `Europe/Berlin`. */
  | { readonly cron: string; readonly timeZone: string }
);

/** By name. */
export interface ScheduleSpecs {
  readonly [name: string]: ScheduleSpec;
}

const SCHEDULE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

export function toSchedules({
  name,
  schedules = {},
}: {
  readonly name: string;
  readonly schedules?: ScheduleSpecs;
}): Pick<AgentDefinition, "schedules"> {
  if (Object.keys(schedules).length === 0) return {};
  const [issue] = findScheduleIssues(schedules);
  if (issue !== undefined)
    throw new TypeError(
      `agent ${name}: schedule ${JSON.stringify(issue.schedule)}: ${issue.message}`,
    );
  return { schedules: pinSchedules(schedules) };
}

/** What keeps them from being declared, by the name of a schedule; the one that is one too many stands for their number. */
export function findScheduleIssues(
  schedules: ScheduleSpecs,
): readonly { readonly schedule: string; readonly message: string }[] {
  return Object.entries(schedules).flatMap(([schedule, spec], index) => {
    const message =
      index === MAX_SCHEDULES ? `at most ${MAX_SCHEDULES} schedules` : findFault(schedule, spec);
    return message === null ? [] : [{ schedule, message }];
  });
}

export function pinSchedules(schedules: ScheduleSpecs): readonly PinnedSchedule[] {
  return Object.entries(schedules).map(([scheduleId, spec]) => {
    const { text, overlap = "skip" } = spec;
    if ("cron" in spec) {
      const rule = { type: "cron", expression: spec.cron, timeZone: spec.timeZone } as const;
      return { scheduleId, rule, text, overlap };
    }
    return { scheduleId, rule: { type: "every", seconds: spec.everySeconds }, text, overlap };
  });
}

function findFault(name: string, spec: ScheduleSpec): string | null {
  const { text } = spec;
  if (!SCHEDULE_NAME.test(name)) return "a name has 1 to 40 of A-Z, a-z, 0-9, _ and -";
  if (text.trim() === "" || text.length > MAX_SCHEDULE_CHARS)
    return `text is required, at most ${MAX_SCHEDULE_CHARS} characters`;
  if ("cron" in spec) return null;
  const isPeriod =
    Number.isSafeInteger(spec.everySeconds) && spec.everySeconds >= MIN_EVERY_SECONDS;
  return isPeriod ? null : `everySeconds must be ${MIN_EVERY_SECONDS} or more`;
}
