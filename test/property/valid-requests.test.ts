/**
 * No history makes the next request invalid (K8, K9, K24): ten thousand generated histories, compiled by the kernel, sent
 * by the adapter through each provider's own SDK to a stub that answers 400 as the real provider does.
 */
import { describe, expect, test } from "vitest";
import { anthropicShape } from "#test/support/provider-shapes/anthropic.ts";
import { geminiShape } from "#test/support/provider-shapes/gemini.ts";
import { openaiShape } from "#test/support/provider-shapes/openai.ts";
import { workersAiShape } from "#test/support/provider-shapes/workers-ai.ts";
import { randomHistory } from "#test/support/random-history.ts";

const HISTORIES = 2_500;
const FIRST_SEED = 1;

describe("any history", () => {
  test.each([
    ["OpenAI", openaiShape],
    ["Anthropic", anthropicShape],
    ["Gemini", geminiShape],
    ["Workers AI", workersAiShape],
  ] as const)(
    "[K8] [K9] [K24] is a request that %s takes",
    async (_name, create) => {
      let sent = 0;
      for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES; seed += 1) {
        const shape = create();
        for (const request of randomHistory(seed, shape)) {
          const parts = shape.model.stream(request, {
            signal: new AbortController().signal,
            idempotencyKey: `evt_${sent}`,
          });
          const ends = [];
          for await (const part of parts)
            if (part.type === "finish" || part.type === "error") ends.push(part);
          sent += 1;
          if (ends[0]?.type !== "finish")
            throw new Error(
              `seed ${seed}: ${JSON.stringify(ends)}\n${JSON.stringify(shape.requests.at(-1), null, 1)}`,
            );
        }
        expect(shape.refused).toEqual([]);
      }
      expect(sent).toBe(2 * HISTORIES);
    },
    120_000,
  );
});
