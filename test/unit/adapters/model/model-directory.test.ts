import { describe, expect, it } from "vitest";
import { createModelDirectory, toModelConfig } from "#adapters/model/model-directory.ts";
import { WorkersAiModel } from "#adapters/model/workers-ai-model.ts";

describe("createModelDirectory", () => {
  it("serves embedded/scripted by default, and nothing that is not configured", () => {
    const directory = createModelDirectory(toModelConfig({}, null));
    expect(directory.resolve("default")?.route).toBe("embedded/scripted");
    for (const route of [
      "openai-compatible/m",
      "workers-ai/@cf/meta/llama-4-scout",
      "embedded/other",
      "gpt-5",
      "",
      "/",
      "openai-compatible/",
    ]) {
      expect(directory.resolve(route)).toBeNull();
    }
  });

  it("one variable is enough for a local server, and the same model object is kept", () => {
    const directory = createModelDirectory(
      toModelConfig({ HOLDFAST_MODEL: "openai-compatible/qwen3:8b" }, null),
    );
    expect(directory.resolve("default")?.route).toBe("openai-compatible/qwen3:8b");
    expect(directory.resolve("default")).toBe(directory.resolve("openai-compatible/qwen3:8b"));
  });

  it("reads URL and key, and takes an empty key for none", () => {
    const config = toModelConfig(
      { HOLDFAST_MODEL_BASE_URL: "http://models.test/v1", HOLDFAST_MODEL_API_KEY: "" },
      null,
    );
    expect(config).toMatchObject({
      defaultRoute: "embedded/scripted",
      openaiCompatible: { baseUrl: "http://models.test/v1", apiKey: null },
    });
  });

  it.each(["@cf/meta/llama-4-scout", "anthropic/claude-opus-4.8", "dynamic/support"])(
    "workers-ai/%s goes to the AI binding",
    (modelId) => {
      const binding = { run: () => Promise.reject(new Error("not called")) } as unknown as Ai;
      const directory = createModelDirectory(
        toModelConfig({}, (id, route) => new WorkersAiModel({ binding, modelId: id, route })),
      );
      expect(directory.resolve(`workers-ai/${modelId}`)?.route).toBe(`workers-ai/${modelId}`);
      expect(directory.resolve("workers-ai/llama")).toBeNull();
    },
  );
});
