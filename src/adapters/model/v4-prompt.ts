/**
 * ModelRequest to the call options of a `LanguageModelV4`.
 *
 * Owns how reasoning travels (K24): a reasoning part goes back only to the model it came from, with its provider metadata
 * as received, and only in an answer that made calls; reasoning of another model is left out, because its signature would
 * be refused there. Metadata of a tool call travels in the reasoning part directly before it.
 *
 * Owns what providers ask of a history beyond the port's contract: all results of a step in one message, nothing between
 * calls and their results, and names of calls that are names, whatever a model once called.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { type Json, type JsonObject, isJsonObject } from "#shared/json.ts";
import type { ModelRequest, PromptMessage, PromptReasoning, PromptResult } from "#ports/model.ts";

type AssistantMessage = Extract<LanguageModelV4Message, { role: "assistant" }>;
type AssistantContent = AssistantMessage["content"][number];

/** What a reasoning part's `meta` holds. `origin` is provider and model; both metadata objects are opaque. */
export interface ReasoningMeta {
  readonly origin: string;
  readonly part: JsonObject | null;
  readonly nextCall: JsonObject | null;
}

export function toReasoningMeta(meta: ReasoningMeta): JsonObject {
  return { origin: meta.origin, part: meta.part, nextCall: meta.nextCall };
}

/** Provider options are JSON by their type; this states it once. */
export function toJsonObject(metadata: SharedV4ProviderMetadata): JsonObject {
  return metadata as JsonObject;
}

export interface PromptOptions {
  readonly origin: string;
  /** `prompt` states the schema in the system message, for providers that refuse a schema while streaming. */
  readonly schemaAs: "response_format" | "prompt";
}

export function toCallOptions(
  request: ModelRequest,
  options: PromptOptions,
): LanguageModelV4CallOptions {
  const { settings, output } = request;
  const isNative = output !== null && options.schemaAs === "response_format";
  return {
    prompt: toV4Prompt(request, options),
    maxOutputTokens: settings.maxOutputTokens,
    ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
    ...(isNative
      ? { responseFormat: { type: "json", schema: output.schema, name: output.name } }
      : {}),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({ type: "function" as const, ...tool })),
          toolChoice: { type: "auto" },
        }),
  };
}

function toV4Prompt(request: ModelRequest, options: PromptOptions): LanguageModelV4Message[] {
  const { output } = request;
  const schema =
    output !== null && options.schemaAs === "prompt"
      ? `Answer with one JSON value that fits this JSON Schema and with no other text:\n${JSON.stringify(output.schema)}`
      : "";
  const system = [request.instructions, schema].filter((text) => text.trim() !== "").join("\n\n");
  const target = { origin: options.origin, tools: new Set(request.tools.map(({ name }) => name)) };
  const messages = joinResults(
    request.messages
      .map((message) => toV4Message(message, target))
      .filter((message) => message.content.length > 0),
  );
  return system === "" ? messages : [{ role: "system", content: system }, ...messages];
}

interface Target {
  readonly origin: string;
  readonly tools: ReadonlySet<string>;
}

/** Gemini counts the results of the turn after its calls, so results of one step are one turn. */
function joinResults(messages: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const joined: LanguageModelV4Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role !== "tool" || last?.role !== "tool") joined.push(message);
    else joined[joined.length - 1] = { ...last, content: [...last.content, ...message.content] };
  }
  return joined;
}

/** A name that was invented may be no name at all, and then no provider takes it back. */
function toToolName(name: string, tools: ReadonlySet<string>): string {
  if (tools.has(name) || /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(name)) return name;
  return `_${name.replace(/[^a-zA-Z0-9_-]/g, "_")}`.slice(0, 64);
}

function toV4Message(message: PromptMessage, target: Target): LanguageModelV4Message {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.content.map(({ text }) => ({ type: "text", text })) };
    case "tool":
      return { role: "tool", content: message.content.map((part) => toV4Result(part, target)) };
    case "assistant":
      return { role: "assistant", content: toAssistantContent(message, target) };
  }
}

function toAssistantContent(
  message: Extract<PromptMessage, { role: "assistant" }>,
  { origin, tools }: Target,
): AssistantContent[] {
  const content: AssistantContent[] = [];
  const hasCalls = message.content.some((part) => part.type === "call");
  let nextCall: JsonObject | null = null;
  let firstCall: number | null = null;
  for (const part of message.content) {
    if (part.type === "text") {
      // What was said after a call would stand between that call and its result.
      content.splice(firstCall ?? content.length, 0, { type: "text", text: part.text });
      if (firstCall !== null) firstCall += 1;
    } else if (part.type === "reasoning") {
      const meta = readMeta(part, origin);
      if (meta === null || !hasCalls) continue;
      nextCall = meta.nextCall ?? nextCall;
      if (part.text !== "" || meta.part !== null)
        content.push({ type: "reasoning", text: part.text, ...providerOptions(meta.part) });
    } else {
      firstCall ??= content.length;
      content.push({
        type: "tool-call",
        toolCallId: part.callId,
        toolName: toToolName(part.name, tools),
        input: part.args,
        ...providerOptions(nextCall),
      });
      nextCall = null;
    }
  }
  return content;
}

function toV4Result(part: PromptResult, { tools }: Target) {
  return {
    type: "tool-result" as const,
    toolCallId: part.callId,
    toolName: toToolName(part.name, tools),
    output: {
      type: part.isError ? ("error-text" as const) : ("text" as const),
      value: part.output,
    },
  };
}

function readMeta(part: PromptReasoning, origin: string): ReasoningMeta | null {
  const meta: Json = part.meta;
  if (!isJsonObject(meta) || meta["origin"] !== origin) return null;
  const own = meta["part"] ?? null;
  const nextCall = meta["nextCall"] ?? null;
  return {
    origin,
    part: isJsonObject(own) ? own : null,
    nextCall: isJsonObject(nextCall) ? nextCall : null,
  };
}

function providerOptions(metadata: JsonObject | null): {
  providerOptions?: SharedV4ProviderMetadata;
} {
  return metadata === null ? {} : { providerOptions: metadata as SharedV4ProviderMetadata };
}
