/** Documents of webhooks that come in; the rest of the API's are in ./wire.ts. */
import { z } from "@hono/zod-openapi";
import { AgentNameParam, Millis } from "./wire.ts";

const APP_RULE = "1 to 48 of a-z, 0-9 and -, not starting with -";
const HookId = z.string().regex(/^hook_[A-Za-z0-9_]{1,59}$/);
export const HookParams = z.object({ hook: HookId });
const Scheme = z.enum(["standard", "github", "slack", "stripe"]).openapi({
  description: "How the sender signs. `standard` is Standard Webhooks.",
});
const Thread = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("hook") }),
    z.strictObject({ type: z.literal("event") }),
    z.strictObject({
      type: z.literal("pointer"),
      pointer: z
        .string()
        .max(200)
        .regex(/^(\/([^~]|~[01])*)+$/, { error: "a JSON Pointer (RFC 6901) such as /customer/id" }),
    }),
  ])
  .openapi({
    description: "One thread for all events, for each, or for each value that the body has there.",
  });
const Secret = z
  .string()
  .min(16)
  .max(200)
  .openapi({ description: "The sender's, where it makes one. Absent: one is made." });

export const HookBody = z
  .strictObject({
    app: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,47}$/, { error: APP_RULE })
      .openapi({
        description: `Whose events these are: an event's id is known again within it. ${APP_RULE}.`,
      }),
    agent: AgentNameParam,
    thread: Thread.default({ type: "hook" }),
    scheme: Scheme.default("standard"),
    secret: Secret.optional(),
  })
  .openapi("CreateHook");
export const RotateBody = z
  .strictObject({
    secret: Secret.optional(),
    keepSeconds: z.int().min(0).max(604_800).default(86_400).openapi({
      description: "How long the secret before goes on being valid.",
    }),
  })
  .openapi("RotateSecret");

export const HookDoc = z
  .object({
    id: z.string(),
    url: z.string().openapi({ description: "Where the sender posts to." }),
    app: z.string(),
    agent: z.string(),
    thread: Thread,
    scheme: Scheme,
    previousUntil: Millis.nullable().openapi({
      description: "Until then the secret before the newest is valid, too.",
    }),
    createdAt: Millis,
    createdBy: z.string(),
  })
  .openapi("Hook");
export const HookSecretDoc = HookDoc.extend({
  secret: z.string().openapi({ description: "Shown this once." }),
}).openapi("HookWithSecret");
export const HookListDoc = z.object({ items: z.array(HookDoc).readonly() }).openapi("HookList");
export const HookRemovedDoc = z
  .object({ id: z.string(), deleted: z.boolean() })
  .openapi("HookDeleted");
export const HookAnswerDoc = z
  .object({ status: z.enum(["accepted", "duplicate"]) })
  .openapi("HookAnswer");
