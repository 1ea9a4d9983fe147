/** Documents of prices (B20, B24). Integer micro-dollars per million tokens: $0.15 per million is 150000. */
import { z } from "@hono/zod-openapi";
import type { Price } from "#kernel/reservation.ts";
import { Millis } from "./wire.ts";

/** A thousand dollars per million tokens: far above any price there is, and every cost stays a safe integer. */
const MAX_RATE = 1_000_000_000;

const Rate = z.int().min(0).max(MAX_RATE);
const RouteText = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, { error: "1 to 200 printable characters" })
  .openapi({ description: "Route of a model.", example: "openai-compatible/qwen3:8b" });

const MAX_TIERS = 8;

const rates = {
  inputMicrosPerMillion: Rate,
  outputMicrosPerMillion: Rate,
  cachedInputMicrosPerMillion: Rate.exactOptional().openapi({
    description: "Default: as input.",
  }),
  cacheWriteMicrosPerMillion: Rate.exactOptional().openapi({ description: "Default: as input." }),
  audioInputMicrosPerMillion: Rate.exactOptional().openapi({ description: "Default: as input." }),
  reasoningMicrosPerMillion: Rate.exactOptional().openapi({ description: "Default: as output." }),
  audioOutputMicrosPerMillion: Rate.exactOptional().openapi({
    description: "Default: as output.",
  }),
};

export const Rates: z.ZodType<Price> = z
  .strictObject({
    ...rates,
    tiers: z
      .array(z.strictObject({ aboveInputTokens: z.int().min(1), ...rates }))
      .min(1)
      .max(MAX_TIERS)
      .refine((tiers) => isRising(tiers.map(({ aboveInputTokens }) => aboveInputTokens)), {
        error: "tiers come in the order of aboveInputTokens, each once",
      })
      .exactOptional()
      .openapi({
        description:
          "Of a call with more input tokens than this, its cached ones included: of all of its tokens. What a tier does not name is as its own input or output.",
      }),
  })
  .openapi("Rates");

function isRising(values: readonly number[]): boolean {
  return values.every((value, index) => index === 0 || value > (values[index - 1] ?? Infinity));
}

export const SetPriceBody = z.strictObject({ route: RouteText, rates: Rates }).openapi("SetPrice");
export const PriceQuery = z.strictObject({ route: RouteText });
export const PricesQuery = z.strictObject({
  route: RouteText.optional().openapi({
    description: "Which price holds for this route, and what it was before.",
  }),
});

export const PriceDoc = z
  .object({
    route: z.string(),
    source: z.enum(["own", "table"]).openapi({ description: "`own` goes before `table`." }),
    version: z.string().openapi({ description: "As `priceVersion` of events." }),
    rates: Rates,
    createdAt: Millis.nullable(),
    createdBy: z.string().nullable(),
    retiredAt: Millis.nullable().openapi({ description: "Null on the one that holds." }),
  })
  .openapi("Price");
export const PriceListDoc = z
  .object({
    table: z.string().openapi({ description: "Version of the deployment's table." }),
    items: z.array(PriceDoc).openapi({ description: "Empty for a route whose price is unknown." }),
  })
  .openapi("PriceList");
export const PriceRemovedDoc = z.object({ removed: z.boolean() }).openapi("PriceRemoved");
