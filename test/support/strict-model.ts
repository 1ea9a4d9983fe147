/**
 * StrictModel: a model that refuses what a provider refuses, and keeps every request.
 *
 * Checked on each request: pairing and order of calls and results, no blank part (`findInvalid`), and no lone surrogate
 * anywhere. A test ends with `rejections` empty, or it has shown a history that would have killed the thread.
 */
import type {
  Model,
  ModelCallOptions,
  ModelPart,
  ModelRequest,
  PromptResult,
} from "#ports/model.ts";
import { ScriptModel, type ScriptPart } from "./scripted-model.ts";
import { findInvalid } from "./valid-prompt.ts";
import { findLoneSurrogate } from "./well-formed.ts";

export type Reply = (request: ModelRequest, index: number) => readonly ScriptPart[];

export class StrictModel implements Model {
  readonly route: string;
  readonly requests: ModelRequest[] = [];
  readonly keys: string[] = [];
  readonly rejections: string[] = [];
  readonly #reply: Reply;

  /** A list answers the request whose prompt holds as many finished steps; a function sees the request itself. */
  constructor(script: readonly (readonly ScriptPart[])[] | Reply, route = "test/strict") {
    this.route = route;
    this.#reply =
      typeof script === "function" ? script : (request) => script[countSteps(request)] ?? [];
  }

  async *stream(request: ModelRequest, options: ModelCallOptions): AsyncGenerator<ModelPart> {
    const index = this.requests.length;
    this.requests.push(request);
    this.keys.push(options.idempotencyKey);
    const fault = findInvalid(request) ?? findLoneSurrogate(request, "request");
    if (fault !== null) {
      this.rejections.push(fault);
      yield* new ScriptModel([[{ error: "invalid_request", retryable: false }]], {
        by: "call",
      }).stream(request, options);
      return;
    }
    yield* new ScriptModel([this.#reply(request, index)], { by: "call" }).stream(request, options);
  }
}

function countSteps(request: ModelRequest): number {
  return request.messages.filter((message) => message.role === "assistant").length;
}

/** Results of the newest step of a request, in prompt order. */
export function lastResults(request: ModelRequest | undefined): readonly PromptResult[] {
  const messages = request?.messages ?? [];
  const step = messages.findLastIndex((message) => message.role === "assistant");
  return messages
    .slice(step + 1)
    .flatMap((message) => (message.role === "tool" ? message.content : []));
}
