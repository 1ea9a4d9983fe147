/**
 * Model: one step of one language model, streamed.
 *
 * Contract (suite: test/contracts/model.ts):
 * M1 one call is one attempt; the adapter never retries. M2 parts arrive in provider order and the stream ends with
 * exactly one `finish` or `error`; an upstream that ends without either yields `error` with code `stream_incomplete`.
 * M3 tool arguments are passed on as the provider's raw text, never repaired. M4 aborting `signal` ends the stream
 * within a second and cancels upstream. M5 errors are parts, not exceptions, and hold no credentials.
 *
 * Reasoning streams with `meta` null; a part whose `meta` is not null ends its block, and its text may be empty.
 */
import type { Json, JsonObject } from "#shared/json.ts";

export interface PromptText {
  readonly type: "text";
  readonly text: string;
}
export interface PromptReasoning {
  readonly type: "reasoning";
  readonly text: string;
  /** Provider signature or metadata; kept with its calls or dropped together with them. */
  readonly meta: Json;
}
export interface PromptCall {
  readonly type: "call";
  readonly callId: string;
  readonly name: string;
  /** Always an object: what the tool got, or the raw text under `_raw` where it could not be parsed. */
  readonly args: JsonObject;
}
export interface PromptResult {
  readonly type: "result";
  readonly callId: string;
  readonly name: string;
  /** Never empty (rule K9). */
  readonly output: string;
  readonly isError: boolean;
}
export type PromptMessage =
  | { readonly role: "user"; readonly content: readonly PromptText[] }
  | {
      readonly role: "assistant";
      readonly content: readonly (PromptText | PromptReasoning | PromptCall)[];
    }
  | { readonly role: "tool"; readonly content: readonly PromptResult[] };

export interface PromptTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}
export interface ModelSettings {
  readonly maxOutputTokens: number;
  readonly temperature: number | null;
}
/** JSON Schema of the answer that the run was asked for, or null for free text. */
export interface OutputSpec {
  readonly name: string;
  readonly schema: JsonObject;
}
export interface ModelRequest {
  readonly instructions: string;
  readonly messages: readonly PromptMessage[];
  readonly tools: readonly PromptTool[];
  readonly settings: ModelSettings;
  readonly output: OutputSpec | null;
}

export interface Usage {
  /** All input tokens, cached ones included. Null where the provider did not say. */
  readonly inputTokens: number | null;
  readonly cachedInputTokens: number | null;
  readonly cacheWriteTokens: number | null;
  /** All output tokens, reasoning included. */
  readonly outputTokens: number | null;
  readonly reasoningTokens: number | null;
  /** Of the input and of the output; absent where the provider did not say. */
  readonly audioInputTokens?: number;
  readonly audioOutputTokens?: number;
}
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "other";

export type ModelErrorCode =
  | "rate_limited"
  | "overloaded"
  | "unavailable"
  | "timeout"
  | "stream_incomplete"
  | "stream_error"
  | "context_overflow"
  | "invalid_request"
  | "unauthorized"
  | "aborted";

export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly meta: Json }
  | {
      readonly type: "call";
      readonly providerCallId: string;
      readonly name: string;
      readonly argsText: string;
    }
  /** Anything the provider wants kept byte for byte: response id, gateway run id, log id. */
  | { readonly type: "meta"; readonly meta: JsonObject }
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly raw: string | null;
      readonly usage: Usage;
    }
  | {
      readonly type: "error";
      readonly code: ModelErrorCode;
      readonly message: string;
      readonly retryable: boolean;
      readonly retryAfterMs: number | null;
      readonly usage: Usage | null;
    };

export interface ModelCallOptions {
  readonly signal: AbortSignal;
  /** The intent's id: the same for no two calls, so that gateways can cache or resume by it. */
  readonly idempotencyKey: string;
}

export interface Model {
  /** The route it answers for, e.g. `embedded/scripted` or `@cf/meta/llama-4-scout`. */
  readonly route: string;
  stream(request: ModelRequest, options: ModelCallOptions): AsyncIterable<ModelPart>;
}

/** Finds the model of a route; null when this deployment has none, which fails the run with `model_unavailable`. */
export interface ModelDirectory {
  resolve(route: string): Model | null;
}
