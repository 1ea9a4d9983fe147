/**
 * ScriptedModel, route `embedded/scripted`: a deterministic pure function of the request, for a machine without account
 * or network. It is not a language model, and says so in its route, its metadata and every answer.
 *
 * Keeps rules M1 to M5 of #ports/model.ts. Usage is counted, not billed: characters by four.
 */
import type { Model, ModelCallOptions, ModelPart, ModelRequest, Usage } from "#ports/model.ts";
import { nextMove } from "./dialogue.ts";
import { toStructured } from "./structured-answer.ts";

export const SCRIPTED_ROUTE = "embedded/scripted";
export const SCRIPTED_LABEL = "[embedded/scripted: rules, not a language model]";
const FINGERPRINT = "scripted-not-an-llm";
const ABORTED: ModelPart = {
  type: "error",
  code: "aborted",
  message: "the model call was aborted",
  retryable: false,
  retryAfterMs: null,
  usage: null,
};
/** Small enough that even a short answer is seen to stream. */
const CHUNK = 24;

export interface ScriptedModelOptions {
  /** Pause before each piece of text, so that a person can watch it, or kill it in the middle. Default none. */
  readonly paceMs?: number;
}

export class ScriptedModel implements Model {
  readonly route: string = SCRIPTED_ROUTE;
  readonly #paceMs: number;

  constructor({ paceMs = 0 }: ScriptedModelOptions = {}) {
    this.#paceMs = paceMs;
  }

  async *stream(request: ModelRequest, { signal }: ModelCallOptions): AsyncGenerator<ModelPart> {
    if (signal.aborted) return yield ABORTED;
    yield { type: "meta", meta: { fingerprint: FINGERPRINT, model: SCRIPTED_ROUTE } };
    const move = nextMove(request);
    const text = move.type === "call" ? move.say : toAnswerText(request, move.answer);
    for (const piece of toPieces(text)) {
      await pause(this.#paceMs, signal);
      if (signal.aborted) return yield ABORTED;
      yield { type: "text", text: piece };
    }
    const spoken = text.length + (move.type === "call" ? move.argsText.length : 0);
    if (move.type === "call") {
      yield {
        type: "call",
        providerCallId: `scripted_${move.number}`,
        name: move.name,
        argsText: move.argsText,
      };
    }
    yield {
      type: "finish",
      reason: move.type === "call" ? "tool_calls" : "stop",
      raw: "scripted",
      usage: toUsage(request, spoken),
    };
  }
}

/** Ends early on an abort. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}

function toAnswerText(
  request: ModelRequest,
  answer: { readonly text: string; readonly headline: number | null },
): string {
  if (request.output !== null) return JSON.stringify(toStructured(request.output.schema, answer));
  return `${answer.text}\n\n${SCRIPTED_LABEL}`;
}

/** Cuts at spaces and never inside a character. */
function toPieces(text: string): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const word of text.split(/(?<=\s)/)) {
    if (piece !== "" && piece.length + word.length > CHUNK) {
      pieces.push(piece);
      piece = "";
    }
    piece += word;
  }
  return piece === "" ? pieces : [...pieces, piece];
}

function toUsage(request: ModelRequest, spoken: number): Usage {
  const input =
    request.instructions.length +
    JSON.stringify(request.messages).length +
    JSON.stringify(request.tools).length;
  return {
    inputTokens: Math.ceil(input / 4),
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: Math.ceil(spoken / 4),
    reasoningTokens: 0,
  };
}
