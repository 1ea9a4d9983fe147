/**
 * The model of all contenders: one `LanguageModelV4` whose whole script is in the newest user message, so that it needs no
 * memory and goes on after a kill with whatever history its caller kept.
 *
 * It asks for one call a step until `steps` calls are settled, then says that it is done. A call whose result says that it
 * failed is asked for again, as a model would; one that may have taken effect is not.
 */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";

export interface Script {
  readonly steps: number;
  /** Each call takes this long until its first part. */
  readonly pauseMs: number;
  /** Deltas of text in each step, before its call. */
  readonly words: number;
  /** URL that is told of each model call and tool execution, and may hold it; null for none. */
  readonly report: string | null;
  /** Step whose text stops in the middle and waits for `report`. */
  readonly holdTextAt: number | null;
}

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const MAY_HAVE_HAPPENED = "may have taken effect";

export class ScriptedLanguageModel implements LanguageModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = "bench";
  readonly modelId = "scripted";
  readonly supportedUrls = {};

  async doStream({ prompt }: LanguageModelV4CallOptions) {
    const { script, settled } = readPrompt(prompt);
    await tell(script.report, "model", settled + 1);
    if (script.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, script.pauseMs));
    return { stream: toStream(parts(script, settled)) };
  }

  doGenerate(): never {
    throw new Error("the bench streams");
  }
}

export async function tell(url: string | null, what: string, step: number): Promise<void> {
  if (url !== null) await (await fetch(`${url}?what=${what}&step=${step}`)).text();
}

function toStream(source: AsyncGenerator<LanguageModelV4StreamPart>) {
  return new ReadableStream<LanguageModelV4StreamPart>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

async function* parts(
  { steps, words, report, holdTextAt }: Script,
  settled: number,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const step = settled + 1;
  const isLast = settled >= steps;
  yield { type: "stream-start", warnings: [] };
  yield* text(isLast ? FINAL_WORDS : stepWords(step, words), async (index) => {
    const isHalf = index === Math.floor(words / 2);
    if (holdTextAt === step && !isLast && isHalf) await tell(report, "text", step);
  });
  if (!isLast) yield* call(step, report);
  yield {
    type: "finish",
    finishReason: isLast
      ? { unified: "stop", raw: "stop" }
      : { unified: "tool-calls", raw: "tool_calls" },
    usage: USAGE,
  };
}

const FINAL_WORDS = ["All ", "ticks ", "are ", "done."];

function stepWords(step: number, words: number): readonly string[] {
  return Array.from({ length: words }, (_, index) => `s${step}w${index + 1} `);
}

async function* text(
  words: readonly string[],
  after: (index: number) => Promise<void>,
): AsyncGenerator<LanguageModelV4StreamPart> {
  if (words.length === 0) return;
  yield { type: "text-start", id: "t" };
  for (const [index, delta] of words.entries()) {
    yield { type: "text-delta", id: "t", delta };
    await after(index);
  }
  yield { type: "text-end", id: "t" };
}

function* call(n: number, report: string | null): Generator<LanguageModelV4StreamPart> {
  const input = JSON.stringify({ n, report });
  const id = `call_${crypto.randomUUID()}`;
  yield { type: "tool-input-start", id, toolName: "tick" };
  yield { type: "tool-input-delta", id, delta: input };
  yield { type: "tool-input-end", id };
  yield { type: "tool-call", toolCallId: id, toolName: "tick", input };
}

/** The newest script, and how many of its calls need not be asked for again. */
function readPrompt(prompt: readonly LanguageModelV4Message[]) {
  let script: Script | null = null;
  let settled = 0;
  for (const message of prompt) {
    if (message.role === "user") {
      script = toScript(message) ?? script;
      settled = 0;
    } else if (message.role === "tool") settled += message.content.filter(isSettled).length;
  }
  if (script === null) throw new Error("the prompt holds no script");
  return { script, settled };
}

function toScript({ content }: Extract<LanguageModelV4Message, { role: "user" }>): Script | null {
  const found = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return found.startsWith("{") ? (JSON.parse(found) as Script) : null;
}

function isSettled(
  part: Extract<LanguageModelV4Message, { role: "tool" }>["content"][number],
): boolean {
  if (part.type !== "tool-result") return false;
  const { output } = part;
  if (output.type !== "error-text" && output.type !== "error-json") return true;
  return JSON.stringify(output.value).includes(MAY_HAVE_HAPPENED);
}
