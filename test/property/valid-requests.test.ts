/**
 * No history makes the next request invalid (K8, K9, K24): thousands of generated histories, compiled by the kernel, sent
 * by the adapter through each provider's own SDK to a stub that answers 400 as the real provider does.
 */
import { expect, test } from "vitest";
import type { ModelRequest } from "#ports/model.ts";
import { anthropicShape } from "#test/support/provider-shapes/anthropic.ts";
import { geminiShape } from "#test/support/provider-shapes/gemini.ts";
import { openaiShape } from "#test/support/provider-shapes/openai.ts";
import { rounds } from "#test/support/depth.ts";
import type { ProviderShape } from "#test/support/provider-shapes/shape.ts";
import { workersAiShape } from "#test/support/provider-shapes/workers-ai.ts";
import { randomHistory } from "#test/support/random-history.ts";

const PROVIDERS = [openaiShape, anthropicShape, geminiShape, workersAiShape];
const HISTORIES = rounds(2_000, 10_000);

async function send({ model }: ProviderShape, request: ModelRequest): Promise<string> {
  const options = { signal: new AbortController().signal, idempotencyKey: "evt_1" };
  for await (const part of model.stream(request, options)) {
    if (part.type === "error") return part.message;
    if (part.type === "finish") return "";
  }
  return "the stream has no end";
}

test(`[K8] [K9] [K24] ${HISTORIES} generated histories are requests that their provider takes`, async () => {
  const refused: string[] = [];
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const create = PROVIDERS[seed % PROVIDERS.length] ?? openaiShape;
    const shape = create();
    const problem = await send(shape, randomHistory(seed, shape));
    if (problem !== "" || shape.refused.length > 0)
      refused.push(`seed ${seed}, ${shape.name}: ${problem}`);
  }
  expect(refused).toEqual([]);
}, 600_000);
