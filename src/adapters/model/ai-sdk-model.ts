/**
 * AiSdkModel: the Model port over one `LanguageModelV4`, by calling `doStream` directly: one step, no retries, tools
 * without `execute` (docs/decisions/0003). Keeps rules M1 to M5 of #ports/model.ts.
 *
 * Reasoning streams as parts with `meta` null; the part that ends a block carries its metadata (its text is then
 * empty). An answer's parts of one block are joined by the caller.
 */
import type {
  LanguageModelV4,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { JsonObject } from "#shared/json.ts";
import type { Model, ModelCallOptions, ModelPart, ModelRequest, Usage } from "#ports/model.ts";
import { readProviderUsage } from "#ports/provider-usage.ts";
import { abortFailure, classifyError, plainFailure } from "./classify-error.ts";
import { toFinishReason } from "./finish-reason.ts";
import { type PromptOptions, toCallOptions, toJsonObject, toReasoningMeta } from "./v4-prompt.ts";

/** Long enough for a local model that is loaded from disk by its first request. */
const DEFAULT_IDLE_TIMEOUT_MS = 180_000;
/** Response headers worth keeping; others may hold cookies or account names. */
const KEPT_HEADERS = ["cf-aig-run-id", "cf-aig-log-id", "x-request-id", "request-id"] as const;

export interface AiSdkModelOptions {
  readonly route: string;
  readonly model: LanguageModelV4;
  readonly schemaAs?: PromptOptions["schemaAs"];
  /** Exact strings that no message may hold, such as the API key. */
  readonly secrets?: readonly string[];
  /** A silent connection is given up after this time as `timeout`. Default 180 s. */
  readonly idleTimeoutMs?: number;
  readonly now?: () => number;
}

export class AiSdkModel implements Model {
  readonly route: string;
  readonly #options: AiSdkModelOptions;
  readonly #origin: string;

  constructor(options: AiSdkModelOptions) {
    this.route = options.route;
    this.#options = options;
    this.#origin = `${options.model.provider}/${options.model.modelId}`;
  }

  async *stream(
    request: ModelRequest,
    { signal, idempotencyKey }: ModelCallOptions,
  ): AsyncGenerator<ModelPart> {
    const {
      model,
      schemaAs = "response_format",
      secrets = [],
      idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS,
    } = this.#options;
    if (signal.aborted) return yield abortFailure(signal);
    const upstream = new AbortController();
    const watch = new Watch(signal, idleTimeoutMs);
    const translator = new Translator(this.#origin);
    let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | null = null;
    try {
      const call = model.doStream({
        ...toCallOptions(request, { origin: this.#origin, schemaAs }),
        abortSignal: upstream.signal,
        headers: { "Idempotency-Key": idempotencyKey },
      });
      const { stream, response } = await watch.race(Promise.resolve(call));
      reader = stream.getReader();
      const headers = keptHeaders(response?.headers);
      if (headers !== null) yield { type: "meta", meta: { headers } };
      for (;;) {
        const { done, value } = await watch.race(reader.read());
        if (done)
          return yield plainFailure("stream_incomplete", "the stream ended before the answer did");
        if (value.type === "error") throw value.error;
        yield* translator.next(value);
        if (value.type === "finish") return;
      }
    } catch (error) {
      const now = (this.#options.now ?? Date.now)();
      yield classifyError(error, {
        phase: reader === null ? "request" : "stream",
        signal,
        secrets,
        now,
      });
    } finally {
      watch.dispose();
      upstream.abort();
      // Not awaited: a provider that never settles its cancellation must not hold the caller (M4).
      reader?.cancel().catch(() => undefined);
    }
  }
}

/**
 * Ends a wait when the caller aborts or the provider falls silent, whether or not upstream heeds its signal (M4). One
 * timer for the whole answer: it is armed again when it fires, not at each part.
 */
class Watch {
  readonly #signal: AbortSignal;
  readonly #idleMs: number;
  readonly #onAbort = (): void => this.#reject?.(this.#signal.reason);
  #reject: ((reason: unknown) => void) | null = null;
  #waitingSince = Date.now();
  #timer: ReturnType<typeof setTimeout>;

  constructor(signal: AbortSignal, idleMs: number) {
    this.#signal = signal;
    this.#idleMs = idleMs;
    this.#timer = setTimeout(() => this.#look(), idleMs);
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  async race<T>(work: Promise<T>): Promise<T> {
    this.#waitingSince = Date.now();
    try {
      return await new Promise<T>((resolve, reject) => {
        if (this.#signal.aborted) reject(this.#signal.reason);
        else this.#reject = reject;
        work.then(resolve, reject);
      });
    } finally {
      this.#reject = null;
    }
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  #look(): void {
    const left = this.#waitingSince + this.#idleMs - Date.now();
    if (this.#reject !== null && left <= 0) {
      this.#reject(new DOMException("no data for too long", "TimeoutError"));
      return;
    }
    // While a slow reader holds the answer up, nobody waits for the provider.
    this.#timer = setTimeout(() => this.#look(), left > 0 ? left : this.#idleMs);
  }
}

/** Stream parts of the SDK to parts of the port, one block of reasoning at a time. */
class Translator {
  readonly #origin: string;
  #reasoning: SharedV4ProviderMetadata | undefined;

  constructor(origin: string) {
    this.#origin = origin;
  }

  *next(part: LanguageModelV4StreamPart): Generator<ModelPart> {
    switch (part.type) {
      case "text-delta":
        if (part.delta !== "") yield { type: "text", text: part.delta };
        return;
      case "reasoning-start":
        this.#reasoning = part.providerMetadata;
        return;
      case "reasoning-delta":
        this.#reasoning = merge(this.#reasoning, part.providerMetadata);
        if (part.delta !== "") yield { type: "reasoning", text: part.delta, meta: null };
        return;
      case "reasoning-end":
        this.#reasoning = merge(this.#reasoning, part.providerMetadata);
        yield this.#closing(this.#reasoning, undefined);
        return;
      case "tool-call":
        // Calls that the provider runs itself are not ours to run, and need no result from us.
        if (part.providerExecuted === true) return;
        if (part.providerMetadata !== undefined)
          yield this.#closing(undefined, part.providerMetadata);
        yield {
          type: "call",
          providerCallId: part.toolCallId,
          name: part.toolName,
          argsText: part.input,
        };
        return;
      case "stream-start":
        if (part.warnings.length > 0)
          yield {
            type: "meta",
            meta: { warnings: part.warnings.map((warning) => ({ ...warning })) },
          };
        return;
      case "response-metadata":
        yield { type: "meta", meta: { response: toResponseMeta(part) } };
        return;
      case "finish":
        yield* finishParts(part);
        return;
      default:
        // tool-input-* repeats what tool-call holds; sources, files and pings are no part of an answer.
        return;
    }
  }

  #closing(
    part: SharedV4ProviderMetadata | undefined,
    nextCall: SharedV4ProviderMetadata | undefined,
  ): ModelPart {
    const meta = toReasoningMeta({
      origin: this.#origin,
      part: part === undefined ? null : toJsonObject(part),
      nextCall: nextCall === undefined ? null : toJsonObject(nextCall),
    });
    this.#reasoning = undefined;
    return { type: "reasoning", text: "", meta };
  }
}

function* finishParts(
  part: Extract<LanguageModelV4StreamPart, { type: "finish" }>,
): Generator<ModelPart> {
  const usage = toUsage(part.usage);
  const { unified, raw } = part.finishReason;
  if (part.providerMetadata !== undefined)
    yield { type: "meta", meta: { provider: toJsonObject(part.providerMetadata) } };
  if (unified === "error") {
    yield { ...plainFailure("stream_error", "the provider ended the answer with an error"), usage };
  } else if (unified === "interrupted") {
    yield { ...plainFailure("stream_incomplete", "the provider interrupted the answer"), usage };
  } else {
    yield { type: "finish", reason: toFinishReason(unified, raw), raw: raw ?? null, usage };
  }
}

/** What the provider itself said fills in what the SDK has no place for, such as audio. */
function toUsage({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): Usage {
  // JSON by its type, which spells it with optional members.
  const said = raw === undefined ? null : readProviderUsage(raw as JsonObject);
  return {
    ...said,
    inputTokens: inputTokens.total ?? said?.inputTokens ?? null,
    cachedInputTokens: inputTokens.cacheRead ?? said?.cachedInputTokens ?? null,
    cacheWriteTokens: inputTokens.cacheWrite ?? said?.cacheWriteTokens ?? null,
    outputTokens: outputTokens.total ?? said?.outputTokens ?? null,
    reasoningTokens: outputTokens.reasoning ?? said?.reasoningTokens ?? null,
  };
}

function toResponseMeta(part: { id?: string; timestamp?: Date; modelId?: string }): JsonObject {
  return {
    id: part.id ?? null,
    model: part.modelId ?? null,
    at: part.timestamp?.toISOString() ?? null,
  };
}

function keptHeaders(headers: Record<string, string> | undefined): JsonObject | null {
  const kept = KEPT_HEADERS.flatMap((name) => {
    const value = headers?.[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function merge(
  a: SharedV4ProviderMetadata | undefined,
  b: SharedV4ProviderMetadata | undefined,
): SharedV4ProviderMetadata | undefined {
  if (a === undefined || b === undefined) return b ?? a;
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return Object.fromEntries(keys.map((key) => [key, { ...a[key], ...b[key] }]));
}
