/** Documents of schedules; the rest of the API's are in ./wire.ts. */
import { z } from "@hono/zod-openapi";
import type { ScheduleView } from "#ports/schedule-stub.ts";
import { Millis, ThreadParams } from "./wire.ts";

/** As src/kernel/schedule-events.ts has them. */
const MAX_SCHEDULE_CHARS = 4_000;
const MIN_EVERY_SECONDS = 60;

const ID_RULE = "1 to 40 of A-Z, a-z, 0-9, _ and -, starting with a letter or digit";
const ScheduleId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/, { error: ID_RULE })
  .openapi({ description: ID_RULE, example: "nightly" });
export const ScheduleParams = ThreadParams.extend({ schedule: ScheduleId });

const Rule = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("once"), at: Millis }),
  z.strictObject({
    type: z.literal("every"),
    seconds: z.int().min(MIN_EVERY_SECONDS).openapi({
      description: "Counted from when it was set; a firing that comes late shifts nothing.",
    }),
  }),
  z.strictObject({
    type: z.literal("cron"),
    expression: z.string().max(100).openapi({
      description: "Five fields: minute, hour, day of month, month, day of week.",
      example: "30 7 * * 1-5",
    }),
    timeZone: z.string().max(64).openapi({ description: "IANA name.", example: "Europe/Berlin" }),
  }),
]);
const Overlap = z.enum(["skip", "queue"]).openapi({
  description:
    "While the run that it began last is open: `skip` leaves a firing out, `queue` lets one wait.",
});

export const ScheduleBody = z
  .strictObject({
    rule: Rule,
    text: z
      .string()
      .min(1)
      .max(MAX_SCHEDULE_CHARS)
      .openapi({ description: "The message that each firing sends." }),
    overlap: Overlap.default("skip"),
  })
  .openapi("PutSchedule");

export const ScheduleDoc = z
  .object({
    scheduleId: z.string(),
    rule: Rule,
    text: z.string(),
    overlap: Overlap,
    paused: z.boolean(),
    declared: z.boolean().openapi({
      description: "In the agent's file, which alone changes or deletes it.",
    }),
    nextAt: Millis.nullable().openapi({ description: "Null while paused." }),
    lastRun: z
      .string()
      .nullable()
      .openapi({ description: "Of the newest firing that was not skipped." }),
  })
  .openapi("Schedule") satisfies z.ZodType<ScheduleView>;
export const ScheduleListDoc = z
  .object({ items: z.array(ScheduleDoc).readonly() })
  .openapi("ScheduleList");
