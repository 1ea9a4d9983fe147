/** Documents of erasures. */
import { z } from "@hono/zod-openapi";
import type { ErasureView } from "#ports/thread-gateway.ts";
import { isPrincipalId } from "#shared/ids.ts";
import type { SubjectErasureView } from "#ports/subject-gateway.ts";
import { Millis } from "./wire.ts";

export const EraseBody = z
  .strictObject({
    live: z.enum(["refuse", "cancel"]).default("refuse").openapi({
      description: "What becomes of runs that have not ended: 409 `run_active`, or cancelled.",
    }),
  })
  .openapi("Erase");

const Stores = z
  .array(z.object({ store: z.string(), count: z.int() }))
  .openapi({ description: "The receipt: how much of each store was erased." });

export const ErasureDoc = z
  .object({
    erasureId: z.string(),
    target: z.enum(["thread", "run"]),
    runId: z.string().nullable(),
    origin: z
      .string()
      .nullable()
      .openapi({ description: "The erasure of a subject that it was part of." }),
    status: z.enum(["erasing", "done"]).openapi({
      description: "`done` only once every store has answered; until then it goes on by itself.",
    }),
    requestedAt: Millis,
    completedAt: Millis.nullable(),
    stores: Stores,
  })
  .openapi("Erasure") satisfies z.ZodType<ErasureView>;

export const SubjectParams = z.object({
  subject: z.string().refine(isPrincipalId).openapi({ description: "Id of the user." }),
});
export const SubjectErasureDoc = z
  .object({
    erasureId: z.string(),
    subject: z.string(),
    status: z.enum(["erasing", "done"]),
    requestedAt: Millis,
    completedAt: Millis.nullable(),
    threads: z.object({ done: z.int(), waiting: z.int() }),
    stores: Stores,
  })
  .openapi("SubjectErasure") satisfies z.ZodType<SubjectErasureView>;
