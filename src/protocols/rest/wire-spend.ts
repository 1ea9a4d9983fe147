/** Documents of spend: groups of sums, the late usage of one call, and the check of a rollup (B23, B26 to B31). */
import type { LateUsage, SpendCheck } from "#ports/spend.ts";
import { z } from "@hono/zod-openapi";
import { isAgentName, isMessageId, isThreadId } from "#shared/ids.ts";
import { AnyJson } from "./wire.ts";

/** As they are asked for; a user is the owner of a thread, a model its route. */
export const GROUPS = ["day", "agent", "thread", "user", "model", "tool", "kind"] as const;
export type Group = (typeof GROUPS)[number];

const DAY_RULE = "a day such as 2026-11-30";
const Day = z
  .string()
  .refine((text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isRealDay(text), { error: DAY_RULE });

function isRealDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

const GROUP_RULE = `${GROUPS.join(", ")}; several separated by commas, none twice`;
const GroupBy = z
  .string()
  .default("day")
  .refine((text) => toGroups(text) !== null, { error: GROUP_RULE })
  .transform((text) => toGroups(text) ?? [])
  .openapi({ type: "string", description: GROUP_RULE, example: "day,model" });

function toGroups(text: string): readonly Group[] | null {
  const names = text.split(",");
  const groups = GROUPS.filter((group) => names.includes(group));
  return groups.length === names.length ? names.flatMap((name) => asGroup(name)) : null;
}

function asGroup(name: string): readonly Group[] {
  return GROUPS.filter((group) => group === name);
}

const Limit = (standard: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, { error: "a whole number" })
    .transform(Number)
    .pipe(z.int().min(1).max(max))
    .default(standard)
    .openapi({ type: "integer", minimum: 1, maximum: max, default: standard });

const Filters = {
  group_by: GroupBy,
  from: Day.optional().openapi({ description: "First day, UTC." }),
  to: Day.optional().openapi({ description: "Last day, UTC, included." }),
  agent: z.string().refine(isAgentName).optional(),
  thread: z.string().refine(isThreadId).optional(),
  user: z.string().refine(isMessageId).optional(),
  after: z.string().max(2_000).optional().openapi({ description: "`next` of the page before." }),
};
export const SpendQueryParams = z.strictObject({ ...Filters, limit: Limit(100, 1_000) });
export const SpendCsvParams = z.strictObject({ ...Filters, limit: Limit(10_000, 10_000) });

export const SpendItemDoc = z
  .object({
    day: z.string().optional(),
    agent: z.string().optional(),
    thread: z.string().optional(),
    user: z.string().optional().openapi({ description: "Owner of the threads." }),
    model: z
      .string()
      .optional()
      .openapi({ description: "Route; empty for what is no model call." }),
    tool: z.string().optional().openapi({ description: "Empty for what is no tool call." }),
    kind: z.enum(["normal", "recovery", "estimated"]).optional(),
    costMicros: z.int().nullable().openapi({
      description: "Micro-dollars of all calls whose price is known. Null when none is.",
    }),
    recoveryMicros: z.int().openapi({ description: "Of that: paid again after a crash." }),
    estimatedMicros: z.int().openapi({ description: "Of that: usage that was estimated." }),
    calls: z.int().openapi({ description: "Model attempts and started tool calls." }),
    unpriced: z.int().openapi({ description: "Model attempts whose price nobody knew." }),
    inputTokens: z.int().openapi({ description: "All input; the next three are parts of it." }),
    cachedInputTokens: z.int(),
    cacheWriteTokens: z.int(),
    audioInputTokens: z.int(),
    outputTokens: z.int().openapi({ description: "All output; the next two are parts of it." }),
    reasoningTokens: z.int(),
    audioOutputTokens: z.int(),
  })
  .openapi("SpendItem");
export const SpendDoc = z
  .object({
    items: z.array(SpendItemDoc),
    next: z.string().nullable().openapi({ description: "`after` of the next page." }),
  })
  .openapi("Spend");

export const LateUsageBody: z.ZodType<LateUsage> = z
  .strictObject({
    intent: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._:+-]{0,127}$/, { error: "the id of a model.requested event" })
      .openapi({ description: "Id of the attempt's `model.requested`: its idempotency key." }),
    usage: z.record(z.string(), AnyJson).openapi({
      description: "As the provider gave it: OpenAI, Anthropic, Gemini, Bedrock or this API's own.",
      example: { prompt_tokens: 1800, completion_tokens: 350 },
    }),
  })
  .openapi("LateUsage");

export const SpendCheckBody = z
  .strictObject({ replace: z.boolean().default(false) })
  .openapi("SpendCheckRequest");
export const SpendCheckDoc = z
  .object({
    countedTo: z.int(),
    micros: z.int(),
    rows: z.int(),
    differing: z.int(),
    replaced: z.boolean(),
  })
  .openapi("SpendCheck") satisfies z.ZodType<SpendCheck>;
