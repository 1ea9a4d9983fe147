/** Cost in integer micro-dollars, rounded up so that no call is free by rounding. */
import type { Settlement } from "#kernel/events.ts";
import type { Usage } from "#ports/model.ts";
import type { RoutePrice } from "#ports/prices.ts";

const PER = 1_000_000;

export interface TokenCounts {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

export function toCostMicros(price: RoutePrice | null, tokens: TokenCounts): number {
  if (price === null) return 0;
  const cached = Math.min(tokens.cachedInput, tokens.input);
  const total =
    (tokens.input - cached) * price.inputMicrosPerMillion +
    cached * price.cachedInputMicrosPerMillion +
    tokens.output * price.outputMicrosPerMillion;
  return Math.ceil(total / PER);
}

/** What the provider said, and an estimate, marked as such, for what it did not say. */
export function toSettlement(
  usage: Usage | null,
  estimate: { readonly input: number; readonly output: number },
  price: RoutePrice | null,
): Settlement {
  const input = usage?.inputTokens ?? estimate.input;
  const output = usage?.outputTokens ?? estimate.output;
  const estimated = usage?.inputTokens == null || usage.outputTokens == null;
  const costMicros = toCostMicros(price, {
    input,
    cachedInput: usage?.cachedInputTokens ?? 0,
    output,
  });
  return { costMicros, tokens: input + output, estimated };
}
