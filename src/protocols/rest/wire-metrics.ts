/** Documents of metrics (H56). */
import { z } from "@hono/zod-openapi";

export const MetricsDoc = z
  .object({
    at: z.int().openapi({ description: "Epoch ms." }),
    families: z.array(
      z.object({
        name: z.string().openapi({ example: "holdfast_runs_total" }),
        type: z.enum(["counter", "gauge"]),
        help: z.string(),
        samples: z.array(
          z.object({
            labels: z.record(z.string(), z.string()).openapi({ example: { agent: "analyst" } }),
            value: z.int(),
          }),
        ),
      }),
    ),
    stalled: z
      .array(
        z.object({
          agent: z.string(),
          thread: z.string(),
          wakes: z.int().openapi({ description: "In a row without progress." }),
          since: z.int().openapi({ description: "Epoch ms of the first of them." }),
        }),
      )
      .openapi({ description: "Threads whose breaker is open, the longest first, at most 20." }),
  })
  .openapi("Metrics");
