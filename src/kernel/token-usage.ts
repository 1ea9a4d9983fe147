/**
 * TokenUsage: the tokens of one call in one form, whatever the provider's (B21). PERSISTED CONTRACT: part of settlements.
 *
 * `input` and `output` are totals, and `input + output` is the call's total. Every other member is a part of its side;
 * parts of one side do not overlap and never exceed it. Absent means none.
 */
import type { Usage } from "#ports/model.ts";

export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  readonly audioInput?: number;
  readonly reasoning?: number;
  readonly audioOutput?: number;
}

/** Above any context window there is: a larger number is a provider's mistake, and keeps every cost a safe integer. */
const MAX_TOKENS = 10_000_000;

export interface ReadUsage {
  readonly tokens: TokenUsage;
  /** A side that the provider did not state is the estimate's. */
  readonly estimated: boolean;
}

/** What the provider said, with the estimate in place of what it did not say or cannot mean. */
export function toTokenUsage(
  usage: Usage | null,
  estimate: { readonly input: number; readonly output: number },
): ReadUsage {
  const input = toCount(usage?.inputTokens);
  const output = toCount(usage?.outputTokens);
  const cachedInput = toCount(usage?.cachedInputTokens) ?? 0;
  const cacheWrite = toCount(usage?.cacheWriteTokens) ?? 0;
  const reasoning = toCount(usage?.reasoningTokens) ?? 0;
  const allInput = whole(input ?? estimate.input, cachedInput + cacheWrite);
  const allOutput = whole(output ?? estimate.output, reasoning);
  // Cached audio is told as both: it is priced as cached, once.
  const audioInput = Math.min(
    toCount(usage?.audioInputTokens) ?? 0,
    allInput - cachedInput - cacheWrite,
  );
  const audioOutput = Math.min(toCount(usage?.audioOutputTokens) ?? 0, allOutput - reasoning);
  return {
    tokens: {
      input: allInput,
      output: allOutput,
      ...part("cachedInput", cachedInput),
      ...part("cacheWrite", cacheWrite),
      ...part("audioInput", audioInput),
      ...part("reasoning", reasoning),
      ...part("audioOutput", audioOutput),
    },
    estimated: input === null || output === null,
  };
}

export function totalTokens({ input, output }: TokenUsage): number {
  return input + output;
}

/** A total that is smaller than its parts is one that left them out. */
function whole(total: number, parts: number): number {
  return total < parts ? total + parts : total;
}

function toCount(value: number | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  return Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS ? value : null;
}

/** Most calls have none of most kinds, and each settlement is stored. */
function part(name: keyof TokenUsage, count: number): Partial<TokenUsage> {
  return count === 0 ? {} : { [name]: count };
}
