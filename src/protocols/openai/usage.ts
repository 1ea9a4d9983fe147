/** Tokens of the model calls of one answer, in the words of both APIs. Unknown counts as none. */
import type { ThreadEvents } from "#kernel/events.ts";

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}
export const NO_USAGE: Tokens = { input: 0, cached: 0, output: 0, reasoning: 0 };

export function addUsage(sum: Tokens, answer: ThreadEvents["model.answered"] | null): Tokens {
  if (answer === null) return sum;
  const { usage } = answer;
  return {
    input: sum.input + (usage.inputTokens ?? 0),
    cached: sum.cached + (usage.cachedInputTokens ?? 0),
    output: sum.output + (usage.outputTokens ?? 0),
    reasoning: sum.reasoning + (usage.reasoningTokens ?? 0),
  };
}

export function toChatUsage({ input, cached, output, reasoning }: Tokens): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

export function toResponseUsage({ input, cached, output, reasoning }: Tokens): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
