/** Documents of a tenant's retention (H44). */
import { z } from "@hono/zod-openapi";
import { isAgentName } from "#shared/ids.ts";
import { Millis } from "./wire.ts";

const Days = z.int().min(1).max(36_500);
const Events = z.int().min(1).max(1_000_000_000);
const MAX_AGE = "What is older may be pruned. Null: age bounds nothing.";
const MAX_EVENTS = "What lies farther back may be pruned. Null: number bounds nothing.";

export const RetentionQuery = z.strictObject({
  agent: z.string().refine(isAgentName).optional().openapi({
    description: "The policy of one agent. Without: that of all agents without their own.",
  }),
});
export const SetRetentionBody = z
  .strictObject({
    maxAgeDays: Days.nullable().openapi({ description: MAX_AGE }),
    maxEvents: Events.nullable().openapi({ description: MAX_EVENTS }),
  })
  .openapi("SetRetention");
export const RetentionDoc = z
  .object({
    agent: z.string().nullable().openapi({ description: "Null: of all agents without their own." }),
    maxAgeDays: Days.nullable(),
    maxEvents: Events.nullable(),
    updatedAt: Millis,
    updatedBy: z.string(),
  })
  .openapi("Retention");
export const RetentionListDoc = z.object({ items: z.array(RetentionDoc) }).openapi("RetentionList");
export const RetentionRemovedDoc = z.object({ removed: z.boolean() }).openapi("RetentionRemoved");
