/**
 * OpenAiCompatibleModel: any server that speaks the Chat Completions API (Ollama, llama.cpp, vLLM, OpenAI, a gateway).
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { Model, ModelCallOptions, ModelPart, ModelRequest } from "#ports/model.ts";
import { AiSdkModel } from "./ai-sdk-model.ts";
import { sealingFetch } from "./seal-event-stream.ts";

export interface OpenAiCompatibleOptions {
  /** Up to and without `/chat/completions`, e.g. `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  /** Null for servers that ask for none, as local ones do. */
  readonly apiKey: string | null;
  /** Label of the provider in metadata. */
  readonly name: string;
  readonly modelId: string;
  readonly route: string;
  readonly idleTimeoutMs?: number;
  readonly fetch?: typeof fetch;
}

export class OpenAiCompatibleModel implements Model {
  readonly route: string;
  readonly #inner: AiSdkModel;

  constructor(options: OpenAiCompatibleOptions) {
    const { apiKey, idleTimeoutMs } = options;
    const provider = createOpenAICompatible({
      baseURL: options.baseUrl,
      name: options.name,
      includeUsage: true,
      supportsStructuredOutputs: true,
      fetch: sealingFetch(options.fetch ?? ((input, init) => fetch(input, init))),
      ...(apiKey === null ? {} : { apiKey }),
    });
    this.route = options.route;
    this.#inner = new AiSdkModel({
      route: options.route,
      model: provider.chatModel(options.modelId),
      secrets: apiKey === null ? [] : [apiKey],
      ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    });
  }

  stream(request: ModelRequest, options: ModelCallOptions): AsyncIterable<ModelPart> {
    return this.#inner.stream(request, options);
  }
}
