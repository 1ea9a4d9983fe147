/**
 * Usage as providers spell it, in the form of the Model port: totals that hold their parts (B21).
 *
 * The spellings differ in what the totals leave out. Anthropic and Bedrock count cached and cache-write tokens beside the
 * input, Gemini counts thoughts beside the output; OpenAI counts both inside. A shape is known by its own names.
 */
import { isJsonObject, type JsonObject } from "#shared/json.ts";
import type { Usage } from "./model.ts";

/** Null where the object is of no shape that is known here. */
export function readProviderUsage(raw: JsonObject): Usage | null {
  if (has(raw, "prompt_tokens", "completion_tokens")) return readChatCompletions(raw);
  if (has(raw, "promptTokenCount", "candidatesTokenCount")) return readGemini(raw);
  if (has(raw, "input_tokens", "output_tokens")) {
    return has(raw, "cache_read_input_tokens", "cache_creation_input_tokens")
      ? readBesideInput(raw, ANTHROPIC)
      : readResponses(raw);
  }
  if (has(raw, "cacheReadInputTokens", "cacheWriteInputTokens"))
    return readBesideInput(raw, BEDROCK);
  return has(raw, "inputTokens", "outputTokens") ? readOwn(raw) : null;
}

/** OpenAI Chat Completions and all that copy it; DeepSeek's names for cached tokens. */
function readChatCompletions(raw: JsonObject): Usage {
  const input = part(raw, "prompt_tokens_details");
  const output = part(raw, "completion_tokens_details");
  return {
    inputTokens: count(raw, "prompt_tokens"),
    cachedInputTokens: count(input, "cached_tokens") ?? count(raw, "prompt_cache_hit_tokens"),
    cacheWriteTokens: count(input, "cache_write_tokens"),
    outputTokens: count(raw, "completion_tokens"),
    reasoningTokens: count(output, "reasoning_tokens"),
    ...audio(count(input, "audio_tokens"), count(output, "audio_tokens")),
  };
}

/** OpenAI Responses. Without details it is also what Anthropic sends when nothing is cached. */
function readResponses(raw: JsonObject): Usage {
  const input = part(raw, "input_tokens_details");
  const output = part(raw, "output_tokens_details");
  return {
    inputTokens: count(raw, "input_tokens"),
    cachedInputTokens: count(input, "cached_tokens"),
    cacheWriteTokens: count(input, "cache_write_tokens"),
    outputTokens: count(raw, "output_tokens"),
    reasoningTokens: count(output, "reasoning_tokens"),
    ...audio(count(input, "audio_tokens"), count(output, "audio_tokens")),
  };
}

interface Names {
  readonly input: string;
  readonly read: string;
  readonly write: string;
  readonly output: string;
}
const ANTHROPIC: Names = {
  input: "input_tokens",
  read: "cache_read_input_tokens",
  write: "cache_creation_input_tokens",
  output: "output_tokens",
};
const BEDROCK: Names = {
  input: "inputTokens",
  read: "cacheReadInputTokens",
  write: "cacheWriteInputTokens",
  output: "outputTokens",
};

function readBesideInput(raw: JsonObject, names: Names): Usage {
  const [read, write] = [count(raw, names.read), count(raw, names.write)];
  return {
    inputTokens: add(count(raw, names.input), read, write),
    cachedInputTokens: read,
    cacheWriteTokens: write,
    outputTokens: count(raw, names.output),
    reasoningTokens: null,
  };
}

function readGemini(raw: JsonObject): Usage {
  const thoughts = count(raw, "thoughtsTokenCount");
  return {
    inputTokens: add(count(raw, "promptTokenCount"), count(raw, "toolUsePromptTokenCount")),
    cachedInputTokens: count(raw, "cachedContentTokenCount"),
    cacheWriteTokens: null,
    outputTokens: add(count(raw, "candidatesTokenCount"), thoughts),
    reasoningTokens: thoughts,
    ...audio(modality(raw, "promptTokensDetails"), modality(raw, "candidatesTokensDetails")),
  };
}

/** Already in the form of the port. */
function readOwn(raw: JsonObject): Usage {
  return {
    inputTokens: count(raw, "inputTokens"),
    cachedInputTokens: count(raw, "cachedInputTokens"),
    cacheWriteTokens: count(raw, "cacheWriteTokens"),
    outputTokens: count(raw, "outputTokens"),
    reasoningTokens: count(raw, "reasoningTokens"),
    ...audio(count(raw, "audioInputTokens"), count(raw, "audioOutputTokens")),
  };
}

function has(raw: JsonObject, ...names: readonly string[]): boolean {
  return names.some((name) => Object.hasOwn(raw, name));
}

function count(raw: JsonObject, name: string): number | null {
  const value = Object.hasOwn(raw, name) ? raw[name] : null;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function part(raw: JsonObject, name: string): JsonObject {
  const value = Object.hasOwn(raw, name) ? raw[name] : null;
  return isJsonObject(value) ? value : {};
}

function modality(raw: JsonObject, name: string): number | null {
  const details = Object.hasOwn(raw, name) ? raw[name] : null;
  if (!Array.isArray(details)) return null;
  const spoken = details.find((entry) => isJsonObject(entry) && entry["modality"] === "AUDIO");
  return isJsonObject(spoken) ? count(spoken, "tokenCount") : null;
}

/** Null where the total itself was not said: parts alone are no total. */
function add(total: number | null, ...parts: readonly (number | null)[]): number | null {
  return total === null ? null : parts.reduce<number>((sum, value) => sum + (value ?? 0), total);
}

function audio(
  input: number | null,
  output: number | null,
): Pick<Usage, "audioInputTokens" | "audioOutputTokens"> {
  return {
    ...(input === null ? {} : { audioInputTokens: input }),
    ...(output === null ? {} : { audioOutputTokens: output }),
  };
}
