/** Documents of webhooks that go out; the rest of the API's are in ./wire.ts. */
import { z } from "@hono/zod-openapi";
import type { Delivery, WebhookType } from "#ports/webhook-store.ts";
import { AgentNameParam, Millis } from "./wire.ts";

const WebhookId = z.string().regex(/^whk_[A-Za-z0-9_]{1,60}$/);
export const WebhookParams = z.object({ webhook: WebhookId });
export const DeliveryParams = WebhookParams.extend({
  message: z.string().regex(/^msg_[A-Za-z0-9_.:+-]{1,150}$/),
});
/** As src/ports/webhook-store.ts has them. */
const Type = z.enum([
  "run.completed",
  "run.failed",
  "run.cancelled",
  "approval.requested",
  "approval.decided",
  "thread.halted",
  "thread.resumed",
]) satisfies z.ZodType<WebhookType>;
const Secret = z
  .string()
  .min(24)
  .max(200)
  .openapi({ description: "`whsec_` and base64 of 16 bytes or more. Absent: one is made." });

export const WebhookBody = z
  .strictObject({
    url: z.string().max(2_048).openapi({ description: "https, and a public host." }),
    agent: AgentNameParam.optional().openapi({ description: "Absent: all agents." }),
    types: z.array(Type).min(1).max(7),
    secret: Secret.optional(),
  })
  .openapi("CreateWebhook");
export const RotateWebhookBody = z
  .strictObject({
    secret: Secret.optional(),
    keepSeconds: z.int().min(0).max(604_800).default(86_400).openapi({
      description: "How long the secret before signs, too.",
    }),
  })
  .openapi("RotateWebhookSecret");

export const WebhookDoc = z
  .object({
    id: z.string(),
    url: z.string(),
    agent: z.string().nullable(),
    types: z.array(Type).readonly(),
    previousUntil: Millis.nullable(),
    disabledAt: Millis.nullable(),
    disabledReason: z.string().nullable(),
    failingSince: Millis.nullable().openapi({
      description: "The first failure since it took something.",
    }),
    createdAt: Millis,
    createdBy: z.string(),
  })
  .openapi("Webhook");
export const WebhookSecretDoc = WebhookDoc.extend({
  secret: z.string().openapi({ description: "Shown this once." }),
}).openapi("WebhookWithSecret");
export const WebhookListDoc = z
  .object({ items: z.array(WebhookDoc).readonly() })
  .openapi("WebhookList");
export const WebhookRemovedDoc = z
  .object({ id: z.string(), deleted: z.boolean() })
  .openapi("WebhookDeleted");

const State = z.enum(["waiting", "delivered", "dead"]);
export const DeliveriesQuery = z.strictObject({ state: State.optional() });
export const DeliveryDoc = z
  .object({
    message: z.string().openapi({ description: "`webhook-id`: the same in each attempt." }),
    type: Type,
    body: z.string().openapi({ description: "As it is sent." }),
    state: State.openapi({ description: "`dead`: not tried again by itself." }),
    attempts: z.int(),
    nextAt: Millis.nullable(),
    lastStatus: z.int().nullable(),
    lastError: z.string().nullable(),
    createdAt: Millis,
  })
  .openapi("Delivery") satisfies z.ZodType<Omit<Delivery, "tenant" | "webhook" | "log" | "seq">>;
export const DeliveryListDoc = z
  .object({ items: z.array(DeliveryDoc).readonly() })
  .openapi("DeliveryList");
export const RedeliveredDoc = z
  .object({ message: z.string(), state: z.literal("waiting") })
  .openapi("Redelivered");
