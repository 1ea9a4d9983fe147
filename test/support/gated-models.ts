/** Models that wait until a test lets them go on. They ask instead of being told, so they work across objects and crashes. */
import type { Model, ModelCallOptions, ModelPart, ModelRequest } from "#ports/model.ts";

/** Answers once it is open. It asks instead of being told, so it works across objects and crashes. */
export class GatedModel implements Model {
  readonly route = "test/gated";
  readonly #model: Model;
  open = false;

  constructor(model: Model) {
    this.#model = model;
  }

  async *stream(request: ModelRequest, options: ModelCallOptions): AsyncGenerator<ModelPart> {
    while (!this.open && !options.signal.aborted) await nextTick();
    yield* this.#model.stream(request, options);
  }
}

const nextTick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

/** Gives its chunks as far as it is allowed to; asks, as GatedModel does. */
export class ChunkModel implements Model {
  readonly route = "test/chunks";
  readonly #chunks: readonly string[];
  allowed = 0;
  calls = 0;

  constructor(chunks: readonly string[]) {
    this.#chunks = chunks;
  }

  async *stream(_request: ModelRequest, { signal }: ModelCallOptions): AsyncGenerator<ModelPart> {
    this.calls += 1;
    for (const [index, text] of this.#chunks.entries()) {
      while (index >= this.allowed && !signal.aborted) await nextTick();
      if (signal.aborted) return;
      yield { type: "text", text };
    }
    const usage = {
      inputTokens: 1,
      cachedInputTokens: null,
      cacheWriteTokens: null,
      outputTokens: 1,
      reasoningTokens: null,
    };
    yield { type: "finish", reason: "stop", raw: "stop", usage };
  }
}
