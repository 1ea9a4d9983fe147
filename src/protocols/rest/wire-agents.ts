/** Documents of agents that are stored over the API (P43 to P48). */
import { z } from "@hono/zod-openapi";
import type { StoredAgentSpec } from "#ports/agent-versions.ts";
import { isAgentName } from "#shared/ids.ts";
import { AgentParams, AnyJson, Millis, Sha256, ThreadListQuery } from "./wire.ts";

export const MAX_MANIFEST_BYTES = 256 * 1024;

const count = (max: number) => z.int().min(1).max(max);
const loopLimit = z.int().min(2).max(10_000);
const Route = z.string().regex(/^[\x21-\x7e]{1,200}$/, { error: "1 to 200 printable characters" });
const DEFINITION = /^[0-9a-f]{64}$/;

const schedule = {
  text: z.string().openapi({ description: "The message that each firing sends." }),
  overlap: z.enum(["skip", "queue"]).optional(),
};
const Schedule = z.union([
  z.strictObject({ ...schedule, everySeconds: z.int() }),
  z.strictObject({ ...schedule, cron: z.string().max(100), timeZone: z.string().max(64) }),
]);

export const StoreAgentBody: z.ZodType<StoredAgentSpec> = z
  .strictObject({
    name: z.string().refine(isAgentName, { error: "1 to 48 of a-z, 0-9 and -" }),
    description: z.string().max(2_000).default(""),
    instructions: z
      .string()
      .max(200_000)
      .refine((text) => text.trim() !== "", { error: "must not be blank" }),
    route: Route.optional().openapi({
      description: "Route of its model. Default the deployment's, pinned as it is now.",
    }),
    fallbacks: z.array(Route).max(8).optional(),
    settings: z
      .strictObject({
        maxOutputTokens: count(1_000_000).optional(),
        temperature: z.number().min(0).max(2).nullable().optional(),
      })
      .optional(),
    contextTokens: count(10_000_000).optional(),
    limits: z
      .strictObject({
        maxSteps: count(10_000).optional(),
        maxCostMicros: count(Number.MAX_SAFE_INTEGER).nullable().optional(),
        maxTokens: count(Number.MAX_SAFE_INTEGER).nullable().optional(),
        maxQueuedInputs: count(10_000).optional(),
        maxWallMs: count(30 * 86_400_000)
          .nullable()
          .optional()
          .openapi({ description: "How long a run may work, waits for people left out." }),
      })
      .optional(),
    retry: z
      .strictObject({
        maxAttempts: count(20).optional(),
        baseDelayMs: count(600_000).optional(),
        maxDelayMs: count(3_600_000).optional(),
      })
      .optional(),
    loop: z
      .strictObject({
        maxRepeats: loopLimit.optional(),
        maxRounds: loopLimit.optional(),
        maxStale: loopLimit.optional(),
      })
      .optional()
      .openapi({ description: "When the loop guard stops a run." }),
    schedules: z.record(z.string(), Schedule).optional().openapi({
      description: "What it does by itself, in the thread `main` of the tenant, by name.",
    }),
    maxRepairs: z.int().min(0).max(10).optional(),
    tools: z
      .array(z.string().min(1).max(64))
      .max(128)
      .default([])
      .openapi({ description: "Names of tools that agents of this deployment have." }),
    approvals: z
      .record(z.string(), z.literal("always"))
      .optional()
      .openapi({ description: "Tools of which each call needs a person. It only tightens." }),
  })
  .openapi("StoreAgent");

export const VersionParams = AgentParams.extend({ definition: z.string().regex(DEFINITION) });
export const VersionsQuery = ThreadListQuery;
const DefinitionQuery = z.string().regex(DEFINITION, { error: "a definition: 64 of 0-9 and a-f" });
export const DiffQuery = z.strictObject({ from: DefinitionQuery, to: DefinitionQuery });

const VersionFields = z.object({
  agent: z.string(),
  definition: Sha256,
  source: z.enum(["code", "stored"]),
  createdAt: Millis.nullable().openapi({ description: "Null for agents of the code." }),
  createdBy: z.string().nullable(),
  promotedAt: Millis.nullable().openapi({
    description: "Set on the one that new runs begin with.",
  }),
  retiredAt: Millis.nullable(),
});
export const VersionDoc = VersionFields.extend({
  manifest: z.record(z.string(), AnyJson),
}).openapi("AgentVersion");
export const VersionListDoc = z
  .object({ items: z.array(VersionFields), next: z.string().nullable() })
  .openapi("AgentVersionList");
export const DiffDoc = z
  .object({
    agent: z.string(),
    from: Sha256,
    to: Sha256,
    changes: z.array(
      z.object({
        path: z.string().openapi({ description: "JSON Pointer; tools are named, not counted." }),
        change: z.enum(["added", "removed", "changed"]),
        before: AnyJson.openapi({ description: "Null where it was added." }),
        after: AnyJson.openapi({ description: "Null where it was removed." }),
      }),
    ),
  })
  .openapi("AgentDiff");
