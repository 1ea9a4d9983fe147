/**
 * What a model call may cost at most, taken before it is made (G3, G11, B22), and what it did cost. Integer
 * micro-dollars, rounded up, so that a cap is never passed by rounding and no call is free by it.
 */
import type { ModelSettings } from "#ports/model.ts";
import type { Reservation } from "./events.ts";
import type { TokenUsage } from "./token-usage.ts";

/**
 * Integer micro-dollars per million tokens. A kind of token without a price of its own costs what the tokens it is part of
 * cost. A type and no interface, because it is JSON.
 */
export type Rates = {
  readonly inputMicrosPerMillion: number;
  readonly outputMicrosPerMillion: number;
  readonly cachedInputMicrosPerMillion?: number;
  readonly cacheWriteMicrosPerMillion?: number;
  readonly reasoningMicrosPerMillion?: number;
  readonly audioInputMicrosPerMillion?: number;
  readonly audioOutputMicrosPerMillion?: number;
};
/** Of a call with more input than this: of all of its tokens, and not only of those above (B32). */
export type PriceTier = Rates & { readonly aboveInputTokens: number };
/** Of one route. */
export type Price = Rates & { readonly tiers?: readonly PriceTier[] };

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

/**
 * Every token at the highest price that a token of its side may have: a call may turn out smaller than reserved, so that
 * each tier up to its size counts, and a dearer one below it too.
 */
export function worstCaseMicros(price: Price, inputTokens: number, outputTokens: number): number {
  const { tiers = [] } = price;
  const reached = tiers.filter(({ aboveInputTokens }) => inputTokens > aboveInputTokens);
  const input = Math.max(...[price, ...reached].map(dearestInput));
  const output = Math.max(...[price, ...reached].map(dearestOutput));
  return Math.ceil((inputTokens * input + outputTokens * output) / MILLION);
}

function dearestInput(rates: Rates): number {
  return Math.max(
    rates.inputMicrosPerMillion,
    rates.cachedInputMicrosPerMillion ?? 0,
    rates.cacheWriteMicrosPerMillion ?? 0,
    rates.audioInputMicrosPerMillion ?? 0,
  );
}

function dearestOutput(rates: Rates): number {
  return Math.max(
    rates.outputMicrosPerMillion,
    rates.reasoningMicrosPerMillion ?? 0,
    rates.audioOutputMicrosPerMillion ?? 0,
  );
}

/** The tier of a call by its input, cached and other parts included; what it begins above is not in it. */
function ratesOf(price: Price, inputTokens: number): Rates {
  const { tiers = [] } = price;
  return tiers
    .filter(({ aboveInputTokens }) => inputTokens > aboveInputTokens)
    .reduce<Rates & { readonly aboveInputTokens: number }>(
      (highest, tier) => (tier.aboveInputTokens > highest.aboveInputTokens ? tier : highest),
      { ...price, aboveInputTokens: -1 },
    );
}

/** Parts are priced as parts, the rest of their side at the side's price: nothing is counted twice (B21). */
export function costMicros(price: Price, usage: TokenUsage): number {
  const rates = ratesOf(price, usage.input);
  const { inputMicrosPerMillion: input, outputMicrosPerMillion: output } = rates;
  const { cachedInput = 0, cacheWrite = 0, audioInput = 0, reasoning = 0, audioOutput = 0 } = usage;
  const total =
    (usage.input - cachedInput - cacheWrite - audioInput) * input +
    cachedInput * (rates.cachedInputMicrosPerMillion ?? input) +
    cacheWrite * (rates.cacheWriteMicrosPerMillion ?? input) +
    audioInput * (rates.audioInputMicrosPerMillion ?? input) +
    (usage.output - reasoning - audioOutput) * output +
    reasoning * (rates.reasoningMicrosPerMillion ?? output) +
    audioOutput * (rates.audioOutputMicrosPerMillion ?? output);
  return Math.ceil(total / MILLION);
}

/** What to do about a call that a limit in money cannot judge. */
export function priceUnknown(route: string, whose: string): string {
  return `the price of the route ${route} is not known, and ${whose} are limited in money; set its price (PUT /v1/prices), or set no limit in money`;
}
