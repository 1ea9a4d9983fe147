/** The running turn as `embedded/scripted` sees it: the newest request of a user and what its tools have answered. */
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import type { PromptMessage } from "#ports/model.ts";

export interface Step {
  readonly name: string;
  readonly args: JsonObject;
  readonly output: string;
  readonly isError: boolean;
}
export interface Turn {
  readonly text: string;
  /** Finished calls of this turn, in order. */
  readonly steps: readonly Step[];
  /** Texts before this turn, newest first. */
  readonly earlier: readonly string[];
  /** Calls in the whole prompt, to number the next one. */
  readonly calls: number;
}

/** Texts that the runtime adds under the user's role are no request of the user. */
const RUNTIME_TEXT = /^\s*<runtime-note\b/;

export function readTurn(messages: readonly PromptMessage[]): Turn {
  const texts = messages.map((message) => userText(message));
  const asked = texts.findLastIndex((text) => text !== null);
  const results = new Map<string, { readonly output: string; readonly isError: boolean }>();
  const calls = messages.flatMap((message, index) =>
    message.role === "assistant"
      ? message.content.flatMap((part) => (part.type === "call" ? [{ ...part, index }] : []))
      : [],
  );
  // A call id may come again in a later step; the result right after its call is the one that counts.
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool" && index > asked)
      for (const part of message.content) results.set(part.callId, part);
  }
  const steps = calls
    .filter((call) => call.index > asked)
    .flatMap(({ callId, name, args }): Step[] => {
      const result = results.get(callId);
      return result === undefined ? [] : [{ name, args, ...result }];
    });
  return {
    text: texts[asked] ?? "",
    steps: steps.map(({ name, args, output, isError }) => ({ name, args, output, isError })),
    earlier: messages.slice(0, Math.max(0, asked)).toReversed().flatMap(textsOf),
    calls: calls.length,
  };
}

function userText(message: PromptMessage): string | null {
  if (message.role !== "user") return null;
  const own = message.content.map(({ text }) => text).filter((text) => !RUNTIME_TEXT.test(text));
  return own.length === 0 ? null : own.join("\n");
}

function textsOf(message: PromptMessage): string[] {
  if (message.role === "tool") return [];
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

/** The `value` of a run_code result, or null when the result was cut or is something else. */
export function readValue(output: string): Json {
  const result = readJson(output);
  return isJsonObject(result) ? (result["value"] ?? null) : null;
}

/** Paths in a listing, whether it came as JSON or as lines. */
export function readListing(output: string): readonly string[] {
  const json = readJson(output);
  if (json === null)
    return output
      .split("\n")
      .flatMap((line) => /^\s*(?:[-*]\s+)?(\S*\.[A-Za-z0-9]+)/.exec(line)?.[1] ?? []);
  const paths = new Map<string, number>();
  const collect = (value: Json): void => {
    if (typeof value === "string" && /\.[A-Za-z0-9]+$/.test(value)) paths.set(value, 0);
    else if (Array.isArray(value)) value.forEach((item: Json) => collect(item));
    else if (isJsonObject(value) && typeof value["path"] === "string")
      paths.set(value["path"], Number(value["updatedAt"] ?? 0));
    else if (isJsonObject(value)) Object.values(value).forEach(collect);
  };
  collect(json);
  // Newest first where the listing says when.
  return [...paths].toSorted((a, b) => b[1] - a[1]).map(([path]) => path);
}

/** Null for what is no JSON, as a cut preview is. */
export function readJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}
