/** Usage of whatever provider in one form, and what it costs. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { costMicros, type Price, reservation, worstCaseMicros } from "#kernel/reservation.ts";
import { toTokenUsage, totalTokens } from "#kernel/token-usage.ts";
import { toDay } from "#kernel/utc-day.ts";
import { readProviderUsage } from "#ports/provider-usage.ts";
import type { JsonObject } from "#shared/json.ts";

const ESTIMATE = { input: 7, output: 3 };
const read = (raw: JsonObject) => toTokenUsage(readProviderUsage(raw), ESTIMATE).tokens;
const count = fc.integer({ min: 0, max: 1_000_000 });

describe("usage as providers spell it", () => {
  test.each<[string, JsonObject, object]>([
    [
      "Anthropic counts cached tokens beside the input",
      { input_tokens: 5, cache_read_input_tokens: 20, output_tokens: 2 },
      { input: 25, cachedInput: 20, output: 2 },
    ],
    [
      "Responses counts them inside",
      {
        input_tokens: 25,
        input_tokens_details: { cached_tokens: 20 },
        output_tokens: 9,
        output_tokens_details: { reasoning_tokens: 4 },
      },
      { input: 25, cachedInput: 20, output: 9, reasoning: 4 },
    ],
    [
      "Gemini counts thoughts beside the output",
      {
        promptTokenCount: 30,
        cachedContentTokenCount: 10,
        candidatesTokenCount: 6,
        thoughtsTokenCount: 4,
        promptTokensDetails: [{ modality: "AUDIO", tokenCount: 5 }],
      },
      { input: 30, cachedInput: 10, audioInput: 5, output: 10, reasoning: 4 },
    ],
    [
      "Bedrock counts cached tokens beside the input",
      { inputTokens: 5, cacheReadInputTokens: 20, cacheWriteInputTokens: 3, outputTokens: 2 },
      { input: 28, cachedInput: 20, cacheWrite: 3, output: 2 },
    ],
    [
      "Chat Completions with audio",
      {
        prompt_tokens: 30,
        prompt_tokens_details: { audio_tokens: 12 },
        completion_tokens: 8,
        completion_tokens_details: { audio_tokens: 6 },
      },
      { input: 30, audioInput: 12, output: 8, audioOutput: 6 },
    ],
    [
      "a total that leaves its cached tokens out holds them too",
      { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 20 }, completion_tokens: 2 },
      { input: 25, cachedInput: 20, output: 2 },
    ],
    [
      "cached audio is counted once",
      {
        prompt_tokens: 30,
        prompt_tokens_details: { cached_tokens: 25, audio_tokens: 20 },
        completion_tokens: 2,
      },
      { input: 30, cachedInput: 25, audioInput: 5, output: 2 },
    ],
  ])("[B21] %s", (_name, raw, expected) => {
    expect(read(raw)).toEqual(expected);
  });

  test("[B25] what is not said, or cannot be meant, is estimated and marked", () => {
    for (const raw of [
      { prompt_tokens: -1, completion_tokens: 4 },
      { prompt_tokens: 1.5, completion_tokens: 4 },
      { prompt_tokens: 1e12, completion_tokens: 4 },
      { prompt_tokens: "9", completion_tokens: 4 },
      { completion_tokens: 4 },
    ])
      expect(toTokenUsage(readProviderUsage(raw), ESTIMATE)).toEqual({
        tokens: { input: 7, output: 4 },
        estimated: true,
      });
    expect(readProviderUsage({ total: 3 })).toBeNull();
    expect(toTokenUsage(null, ESTIMATE)).toEqual({ tokens: ESTIMATE, estimated: true });
  });
});

const price: fc.Arbitrary<Price> = fc.record(
  {
    inputMicrosPerMillion: count,
    outputMicrosPerMillion: count,
    cachedInputMicrosPerMillion: count,
    cacheWriteMicrosPerMillion: count,
    reasoningMicrosPerMillion: count,
    audioInputMicrosPerMillion: count,
    audioOutputMicrosPerMillion: count,
  },
  { requiredKeys: ["inputMicrosPerMillion", "outputMicrosPerMillion"] },
);
const usage = fc.record({
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  audioInputTokens: count,
  audioOutputTokens: count,
});

describe("cost", () => {
  test("[B22] is never above the worst case of its tokens, at any price, and always a whole number", () => {
    fc.assert(
      fc.property(usage, price, (said, rates) => {
        const { tokens } = toTokenUsage(said, ESTIMATE);
        const cost = costMicros(rates, tokens);
        expect(Number.isSafeInteger(cost)).toBe(true);
        expect(cost).toBeGreaterThanOrEqual(0);
        expect(cost).toBeLessThanOrEqual(worstCaseMicros(rates, tokens.input, tokens.output));
        const parts =
          (tokens.cachedInput ?? 0) + (tokens.cacheWrite ?? 0) + (tokens.audioInput ?? 0);
        expect(parts).toBeLessThanOrEqual(tokens.input);
        expect(totalTokens(tokens)).toBe(tokens.input + tokens.output);
      }),
    );
  });

  test("[B32] a call costs the tier that its input is above, all of its tokens", () => {
    const tiered: Price = {
      inputMicrosPerMillion: 1_000_000,
      outputMicrosPerMillion: 2_000_000,
      cachedInputMicrosPerMillion: 100_000,
      tiers: [
        {
          aboveInputTokens: 1_000,
          inputMicrosPerMillion: 3_000_000,
          outputMicrosPerMillion: 4_000_000,
        },
        {
          aboveInputTokens: 100,
          inputMicrosPerMillion: 2_000_000,
          outputMicrosPerMillion: 5_000_000,
        },
      ],
    };
    const cost = (input: number, more = {}) => costMicros(tiered, { input, output: 10, ...more });
    expect([100, 101, 1_000, 1_001].map((input) => cost(input))).toEqual([
      100 + 20,
      202 + 50,
      2_000 + 50,
      3_003 + 40,
    ]);
    // Cached tokens count for the size; a tier without a price of theirs takes its own input's.
    expect(cost(101, { cachedInput: 100 })).toBe(202 + 50);
    expect(cost(100, { cachedInput: 100 })).toBe(10 + 20);
    const settings = { maxOutputTokens: 10, temperature: null };
    const reserved = (input: number) => reservation(settings, input, tiered).costMicros;
    expect([100, 101, 1_001].map(reserved)).toEqual([120, 252, 3_003 + 50]);
  });

  test("[B32] whatever the tiers, no call that fits its reservation costs more than it, and one that stays below all costs as without", () => {
    const tier = fc.tuple(fc.integer({ min: 1, max: 2_000_000 }), price);
    const tiers = fc.array(tier, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        usage,
        price,
        tiers,
        fc.nat(1_000_000),
        fc.nat(1_000),
        (said, base, steps, more, moreOut) => {
          const tiered: Price = {
            ...base,
            tiers: steps.map(([aboveInputTokens, rates]) => ({ aboveInputTokens, ...rates })),
          };
          const { tokens } = toTokenUsage(said, ESTIMATE);
          const cost = costMicros(tiered, tokens);
          expect(Number.isSafeInteger(cost)).toBe(true);
          expect(cost).toBeLessThanOrEqual(
            worstCaseMicros(tiered, tokens.input + more, tokens.output + moreOut),
          );
          const lowest = Math.min(...steps.map(([above]) => above));
          if (tokens.input <= lowest) expect(cost).toBe(costMicros(base, tokens));
        },
      ),
    );
  });

  test("[B22] a reservation takes the dearest token of each side", () => {
    const rates = {
      inputMicrosPerMillion: 3_000_000,
      cacheWriteMicrosPerMillion: 3_750_000,
      outputMicrosPerMillion: 15_000_000,
    };
    const settings = { maxOutputTokens: 100, temperature: null };
    expect(reservation(settings, 1_000, rates)).toEqual({ tokens: 1_100, costMicros: 5_250 });
    expect(reservation(settings, 1_000, null)).toEqual({
      tokens: 1_100,
      costMicros: 0,
      unpriced: true,
    });
  });
});

test("[B28] the day of a time is its UTC day", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (at) => {
      expect(toDay(at)).toBe(new Date(at).toISOString().slice(0, 10));
    }),
  );
});
