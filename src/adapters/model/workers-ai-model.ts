/**
 * WorkersAiModel: Workers AI (`@cf/...`), the AI Gateway catalogue (`vendor/model`) and dynamic routes
 * (`dynamic/name`), all through the `AI` binding.
 *
 * Each attempt is one call: the gateway's own retries stay off. A schema is stated in the prompt, since some of these
 * models refuse a schema while streaming.
 */
import { createAI } from "agents/models/ai-sdk";
import type { Model, ModelCallOptions, ModelPart, ModelRequest } from "#ports/model.ts";
import { AiSdkModel } from "./ai-sdk-model.ts";

export interface WorkersAiOptions {
  readonly binding: Ai;
  readonly modelId: string;
  readonly route: string;
  /** AI Gateway to go through; the account's default gateway when absent. */
  readonly gateway?: string;
}

export class WorkersAiModel implements Model {
  readonly route: string;
  readonly #inner: AiSdkModel;

  /** Throws `TypeError` on an id that is none of the three kinds. */
  constructor({ binding, modelId, route, gateway }: WorkersAiOptions) {
    const ai = createAI({ binding, ...(gateway === undefined ? {} : { gateway }) });
    this.route = route;
    this.#inner = new AiSdkModel({ route, model: ai.languageModel(modelId), schemaAs: "prompt" });
  }

  stream(request: ModelRequest, options: ModelCallOptions): AsyncIterable<ModelPart> {
    return this.#inner.stream(request, options);
  }
}
