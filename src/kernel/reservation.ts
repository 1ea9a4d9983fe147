/**
 * What a model call may cost at most, taken before it is made (G3, G11, B22), and what it did cost. Integer
 * micro-dollars, rounded up, so that a cap is never passed by rounding and no call is free by it.
 */
import type { ModelSettings } from "#ports/model.ts";
import type { Reservation } from "./events.ts";
import type { TokenUsage } from "./token-usage.ts";

/**
 * Of one route, in integer micro-dollars per million tokens. A kind of token without a price of its own costs what the
 * tokens it is part of cost.
 */
export interface Price {
  readonly inputMicrosPerMillion: number;
  readonly outputMicrosPerMillion: number;
  readonly cachedInputMicrosPerMillion?: number;
  readonly cacheWriteMicrosPerMillion?: number;
  readonly reasoningMicrosPerMillion?: number;
  readonly audioInputMicrosPerMillion?: number;
  readonly audioOutputMicrosPerMillion?: number;
}

const MILLION = 1_000_000;

/** `unpriced` where nobody knows what the call costs: a money cap refuses it (B23). */
export function reservation(
  settings: ModelSettings,
  inputTokens: number,
  price: Price | null,
): Reservation {
  const tokens = inputTokens + settings.maxOutputTokens;
  if (price === null) return { tokens, costMicros: 0, unpriced: true };
  return { tokens, costMicros: worstCaseMicros(price, inputTokens, settings.maxOutputTokens) };
}

/** Every token at the highest price that a token of its side may have. */
export function worstCaseMicros(price: Price, inputTokens: number, outputTokens: number): number {
  const input = Math.max(
    price.inputMicrosPerMillion,
    price.cachedInputMicrosPerMillion ?? 0,
    price.cacheWriteMicrosPerMillion ?? 0,
    price.audioInputMicrosPerMillion ?? 0,
  );
  const output = Math.max(
    price.outputMicrosPerMillion,
    price.reasoningMicrosPerMillion ?? 0,
    price.audioOutputMicrosPerMillion ?? 0,
  );
  return Math.ceil((inputTokens * input + outputTokens * output) / MILLION);
}

/** Parts are priced as parts, the rest of their side at the side's price: nothing is counted twice (B21). */
export function costMicros(price: Price, usage: TokenUsage): number {
  const { inputMicrosPerMillion: input, outputMicrosPerMillion: output } = price;
  const { cachedInput = 0, cacheWrite = 0, audioInput = 0, reasoning = 0, audioOutput = 0 } = usage;
  const total =
    (usage.input - cachedInput - cacheWrite - audioInput) * input +
    cachedInput * (price.cachedInputMicrosPerMillion ?? input) +
    cacheWrite * (price.cacheWriteMicrosPerMillion ?? input) +
    audioInput * (price.audioInputMicrosPerMillion ?? input) +
    (usage.output - reasoning - audioOutput) * output +
    reasoning * (price.reasoningMicrosPerMillion ?? output) +
    audioOutput * (price.audioOutputMicrosPerMillion ?? output);
  return Math.ceil(total / MILLION);
}

/** What to do about a call that a limit in money cannot judge. */
export function priceUnknown(route: string, whose: string): string {
  return `the price of the route ${route} is not known, and ${whose} are limited in money; set its price (PUT /v1/prices), or set no limit in money`;
}
