/** The table of the deployment: which routes it prices, and that an entry says where its price stands. */
import { describe, expect, it } from "vitest";
import { PriceTable, toRoutePrice, type PriceEntry } from "#adapters/prices/price-table.ts";
import TABLE from "#adapters/prices/prices.json" with { type: "json" };

const at = (openaiCompatibleUrl: string | null) => new PriceTable({ openaiCompatibleUrl });
const OPENAI = "https://api.openai.com/v1";

describe("the price table", () => {
  it("[B20] each entry has whole micro-dollars, and the page and day that they stand for", () => {
    const sources: Readonly<Record<string, { readonly page: string; readonly asOf: string }>> =
      TABLE.sources;
    for (const [id, { source, tiers: _, ...rates }] of Object.entries<
      PriceEntry & { readonly source: string }
    >(TABLE.models)) {
      expect(sources[source]?.page, id).toMatch(/^https:\/\//);
      expect(sources[source]?.asOf, id).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      for (const rate of Object.values(rates)) expect(Number.isSafeInteger(rate), id).toBe(true);
    }
    expect(TABLE.version).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  });

  it("[B32] an entry may have tiers; one that is not whole, or is there twice, does not load", () => {
    const entry = { input: 10, output: 20 };
    const tier = { aboveInput: 200_000, input: 20, output: 30, cachedInput: 2 };
    expect(toRoutePrice("x", { ...entry, tiers: [tier] })).toEqual({
      version: TABLE.version,
      inputMicrosPerMillion: 10,
      outputMicrosPerMillion: 20,
      tiers: [
        {
          aboveInputTokens: 200_000,
          inputMicrosPerMillion: 20,
          outputMicrosPerMillion: 30,
          cachedInputMicrosPerMillion: 2,
        },
      ],
    });
    expect(toRoutePrice("x", entry)).not.toHaveProperty("tiers");
    for (const tiers of [[tier, tier], [{ ...tier, input: 0.5 }], [{ ...tier, aboveInput: 1.5 }]])
      expect(() => toRoutePrice("x", { ...entry, tiers })).toThrow();
  });

  it("[B20] Workers AI and gateway models are priced by their id, under the table's version", () => {
    const table = at(null);
    expect(table.price("workers-ai/@cf/zai-org/glm-5.2")).toEqual({
      version: TABLE.version,
      inputMicrosPerMillion: 1_400_000,
      cachedInputMicrosPerMillion: 260_000,
      outputMicrosPerMillion: 4_400_000,
    });
    expect(table.price("workers-ai/anthropic/claude-haiku-4-5")).toMatchObject({
      cacheWriteMicrosPerMillion: 1_250_000,
    });
    expect(table.price("workers-ai/openai/gpt-audio")).toMatchObject({
      audioInputMicrosPerMillion: 32_000_000,
    });
  });

  it("[B20] embedded models and a server on this machine cost nothing, which is known", () => {
    const free = { inputMicrosPerMillion: 0, outputMicrosPerMillion: 0, version: TABLE.version };
    expect(at(null).price("embedded/scripted")).toEqual(free);
    for (const url of ["http://127.0.0.1:11434/v1", "http://localhost:8000/v1", "http://[::1]/v1"])
      expect(at(url).price("openai-compatible/qwen3:8b")).toEqual(free);
  });

  it("[B20] a vendor's own server is priced as the vendor; any other is not known", () => {
    expect(at(OPENAI).price("openai-compatible/gpt-4o-mini")).toEqual(
      at(null).price("workers-ai/openai/gpt-4o-mini"),
    );
    expect(at("https://gpu.example.com/v1").price("openai-compatible/gpt-4o-mini")).toBeNull();
  });

  it.each([
    "workers-ai/dynamic/mine",
    "workers-ai/@cf/nobody/knows",
    "openai-compatible/qwen3:8b",
    "embedded",
    "constructor",
    "workers-ai/constructor",
    "",
  ])("[B20] %j is unknown, not free", (route) => {
    expect(at(null).price(route)).toBeNull();
  });
});
