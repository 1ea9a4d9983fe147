/** Handed case D06: usage of two providers, as each sends it over its own wire, in one form and one price. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { describe, expect, test } from "vitest";
import { AiSdkModel } from "#adapters/model/ai-sdk-model.ts";
import { OpenAiCompatibleModel } from "#adapters/model/openai-compatible-model.ts";
import { addCounts, NO_SPEND, rollUp } from "#kernel/spend.ts";
import type { Model } from "#ports/model.ts";
import type { RoutePrice } from "#ports/prices.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { D06 } from "#test/fixtures/cases.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";

const micros = (dollars: number): number => Math.round(dollars * 1_000_000);
const ANTHROPIC: RoutePrice = {
  version: "case",
  inputMicrosPerMillion: micros(D06.anthropicPricePerM.in),
  cachedInputMicrosPerMillion: micros(D06.anthropicPricePerM.read),
  cacheWriteMicrosPerMillion: micros(D06.anthropicPricePerM.write),
  outputMicrosPerMillion: micros(D06.anthropicPricePerM.out),
};
const OPENAI: RoutePrice = {
  version: "case",
  inputMicrosPerMillion: micros(D06.openaiPricePerM.in),
  cachedInputMicrosPerMillion: micros(D06.openaiPricePerM.cached),
  outputMicrosPerMillion: micros(D06.openaiPricePerM.out),
};

function respond(events: readonly Json[], named: boolean): typeof fetch {
  const frame = (event: Json): string => {
    const type = (event as JsonObject)["type"];
    return `${named ? `event: ${String(type)}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
  };
  const body = events.map(frame).join("") + (named ? "" : "data: [DONE]\n\n");
  return async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function anthropic(): Model {
  const { output_tokens: output, ...start } = D06.anthropicUsage;
  const usage = { ...start, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", usage };
  const fetch = respond(
    [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "ok" } },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: output },
      },
      { type: "message_stop" },
    ],
    true,
  );
  const provider = createAnthropic({ apiKey: "none", fetch });
  return new AiSdkModel({ route: "test/anthropic", model: provider("claude") });
}

function openai(): Model {
  const chunk = (more: JsonObject): JsonObject => ({
    id: "c1",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt",
    ...more,
  });
  const delta = { role: "assistant", content: "ok" };
  return new OpenAiCompatibleModel({
    baseUrl: "https://api.example.com/v1",
    apiKey: null,
    name: "openai-compatible",
    modelId: "gpt",
    route: "test/openai",
    fetch: respond(
      [
        chunk({ choices: [{ index: 0, delta, finish_reason: null }] }),
        chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
        chunk({ choices: [], usage: D06.openaiUsage }),
      ],
      false,
    ),
  });
}

async function run(model: Model, price: RoutePrice) {
  const thread = new ThreadHarness({ model, prices: { price: () => price } });
  thread.send("go");
  await thread.finish();
  const view = thread.run("run_1");
  const [outcome] = thread.of("model.answered");
  return { view, outcome, events: thread.events() };
}

describe("D06", () => {
  test.each([
    ["Anthropic", anthropic, ANTHROPIC, 4_612, 4_652, 4_086],
    ["OpenAI", openai, OPENAI, 1_800, 2_150, 4_600],
  ])(
    "D06 [B21] %s: totals with their parts once, and the cost to the micro-dollar",
    async (_name, model, price, totalInput, total, cost) => {
      const { view, outcome, events } = await run(model(), price);
      expect(view).toMatchObject({ status: "completed", tokens: total, costMicros: cost });
      expect(view).toMatchObject({ estimatedMicros: 0, recoveryMicros: 0, unpriced: 0 });
      const usage = outcome?.payload?.settlement.usage;
      expect(usage?.input).toBe(totalInput);
      expect((usage?.input ?? 0) + (usage?.output ?? 0)).toBe(total);
      expect(outcome?.header).toMatchObject({ costMicros: cost, costKind: "normal" });
      const [spent] = rollUp(events);
      let sum = NO_SPEND;
      for (let call = 0; call < 10_000; call += 1) sum = addCounts(sum, spent ?? NO_SPEND);
      expect(sum.micros).toBe(cost * 10_000);
      expect(sum.input + sum.output).toBe(total * 10_000);
    },
  );

  test("D06 [B21] reasoning is part of the output, and cached tokens of the input", async () => {
    const { outcome } = await run(openai(), OPENAI);
    expect(outcome?.payload?.settlement.usage).toEqual({
      input: 1_800,
      cachedInput: 1_200,
      output: 350,
      reasoning: 250,
    });
    const { outcome: other } = await run(anthropic(), ANTHROPIC);
    expect(other?.payload?.settlement.usage).toEqual({
      input: 4_612,
      cachedInput: 4_000,
      cacheWrite: 600,
      output: 40,
    });
  });
});
