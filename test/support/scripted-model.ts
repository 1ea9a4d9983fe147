/**
 * ScriptModel: a Model that plays a list of steps, the same in Node and in workerd, and keeps every request it was sent.
 *
 * Step `n` answers the request whose prompt holds `n` finished steps, so that an attempt repeated after a crash meets the
 * step it repeats; with `by: "call"` each call takes the next step, for scripts of failures and retries.
 */
import type {
  FinishReason,
  Model,
  ModelCallOptions,
  ModelErrorCode,
  ModelPart,
  ModelRequest,
  Usage,
} from "#ports/model.ts";

export type ScriptPart =
  | { readonly text: string }
  | { readonly reasoning: string }
  | { readonly call: { readonly id: string; readonly name: string; readonly args: string } }
  | {
      readonly finish: FinishReason;
      readonly usage?: { readonly input?: number; readonly output?: number };
    }
  | { readonly error: ModelErrorCode; readonly retryable?: boolean; readonly retryAfterMs?: number }
  /** The upstream ends without a finish. */
  | { readonly eof: true }
  /** Nothing more comes until the call is aborted. */
  | { readonly hang: true }
  /** Waits for `release()`; later calls pass too. */
  | { readonly hold: true };

export interface ScriptOptions {
  readonly by?: "answers" | "call";
  readonly route?: string;
}

export class ScriptModel implements Model {
  readonly route: string;
  readonly requests: ModelRequest[] = [];
  /** Idempotency keys, one per request. */
  readonly keys: string[] = [];
  readonly #steps: readonly (readonly ScriptPart[])[];
  readonly #by: "answers" | "call";
  #release: () => void = () => undefined;
  readonly #released = new Promise<void>((resolve) => (this.#release = resolve));
  /** Calls that wait at a `hold` or `hang`. */
  waiting = 0;

  constructor(steps: readonly (readonly ScriptPart[])[], options: ScriptOptions = {}) {
    this.#steps = steps;
    this.#by = options.by ?? "answers";
    this.route = options.route ?? "test/script";
  }

  release(): void {
    this.#release();
  }

  async *stream(request: ModelRequest, options: ModelCallOptions): AsyncGenerator<ModelPart> {
    const index = this.#by === "call" ? this.requests.length : countSteps(request);
    this.requests.push(request);
    this.keys.push(options.idempotencyKey);
    const step = this.#steps[index];
    if (step === undefined) {
      yield {
        type: "error",
        code: "invalid_request",
        message: `the script has no step ${index}`,
        retryable: false,
        retryAfterMs: null,
        usage: null,
      };
      return;
    }
    for (const part of step) {
      if ("hold" in part || "hang" in part) {
        await this.#wait("hold" in part, options.signal);
        if (options.signal.aborted) return;
        continue;
      }
      if ("eof" in part) return;
      yield toModelPart(part);
    }
  }

  async #wait(canRelease: boolean, signal: AbortSignal): Promise<void> {
    this.waiting += 1;
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    await Promise.race(canRelease ? [this.#released, aborted] : [aborted]);
    this.waiting -= 1;
  }
}

function countSteps(request: ModelRequest): number {
  return request.messages.filter((message) => message.role === "assistant").length;
}

function toModelPart(
  part: Exclude<ScriptPart, { eof: true } | { hang: true } | { hold: true }>,
): ModelPart {
  if ("text" in part) return { type: "text", text: part.text };
  if ("reasoning" in part) return { type: "reasoning", text: part.reasoning, meta: null };
  if ("call" in part) {
    return {
      type: "call",
      providerCallId: part.call.id,
      name: part.call.name,
      argsText: part.call.args,
    };
  }
  if ("finish" in part)
    return { type: "finish", reason: part.finish, raw: part.finish, usage: toUsage(part.usage) };
  return {
    type: "error",
    code: part.error,
    message: `scripted ${part.error}`,
    retryable: part.retryable ?? true,
    retryAfterMs: part.retryAfterMs ?? null,
    usage: null,
  };
}

function toUsage(usage: { readonly input?: number; readonly output?: number } | undefined): Usage {
  return {
    inputTokens: usage?.input ?? null,
    cachedInputTokens: null,
    cacheWriteTokens: null,
    outputTokens: usage?.output ?? null,
    reasoningTokens: null,
  };
}

export const say = (text: string): readonly ScriptPart[] => [
  { text },
  { finish: "stop", usage: { input: 10, output: 5 } },
];

export const ask = (
  ...calls: readonly (readonly [name: string, args?: unknown])[]
): readonly ScriptPart[] => [
  ...calls.map(([name, args], index) => ({
    call: { id: `p${index}`, name, args: JSON.stringify(args ?? {}) },
  })),
  { finish: "tool_calls", usage: { input: 10, output: 5 } },
];
