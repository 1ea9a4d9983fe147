/**
 * findTextCall: the tool whose call a model wrote into its answer instead of making it (K25).
 *
 * Such text is never executed. Only the forms that models are trained on count, only for the agent's own tools, and
 * only where the call is the end of the answer: an explanation that quotes a call goes on after it.
 */
import { isJsonObject, type Json } from "#shared/json.ts";
import { nestsDeeper } from "./json-scan.ts";

/** A longer text is an answer, whatever it holds. */
const MAX_CHARS = 20_000;
const MAX_DEPTH = 64;
const NAME_KEYS = ["name", "tool", "tool_name", "function"] as const;
const ARGS_KEYS = ["arguments", "parameters", "args", "input", "tool_input"] as const;

export function findTextCall(
  text: string,
  tools: readonly { readonly name: string }[],
): string | null {
  const trimmed = text.trim();
  if (tools.length === 0 || trimmed.length > MAX_CHARS) return null;
  const name = taggedName(trimmed) ?? jsonName(trimmed);
  return name !== null && tools.some((tool) => tool.name === name) ? name : null;
}

/** `<function=NAME>...`, `<invoke name="NAME">...`, `<tool_call>{...}</tool_call>`, `[TOOL_CALLS]...`. */
function taggedName(text: string): string | null {
  const xml = /<(?:function=|invoke name=")([A-Za-z0-9_-]{1,64})"?>/.exec(text);
  if (xml !== null && /<\/(?:function|invoke|tool_call|function_calls)>$/.test(text))
    return xml[1] ?? null;
  const marker =
    /(?:<tool_call>|<\|tool_call\|>|<\|python_tag\|>|\[TOOL_CALLS\]|<function_call>)/.exec(text);
  if (marker === null) return null;
  const rest = text.slice(marker.index + marker[0].length);
  return nameIn(rest.replace(/<\/(?:tool_call|function_call)>$/, ""));
}

/** The whole answer is one JSON call, bare or in a fence at its end. */
function jsonName(text: string): string | null {
  const fence = /(?:^|\n)```(?:json|tool_call|tool_code)?\s*\n([\s\S]*?)\n?```$/.exec(text);
  return nameIn(fence?.[1] ?? text);
}

function nameIn(text: string): string | null {
  const json = text.trim();
  if (!/^[[{]/.test(json) || nestsDeeper(json, MAX_DEPTH)) return null;
  const value = parse(json);
  const call: Json = Array.isArray(value) ? (value[0] ?? null) : value;
  if (!isJsonObject(call)) return null;
  const inner: Json = call["function"] ?? null;
  const holder = isJsonObject(inner) ? inner : call;
  const named = NAME_KEYS.map((key) => holder[key]).find((name) => typeof name === "string");
  const hasArgs = ARGS_KEYS.some((key) => Object.hasOwn(holder, key));
  return typeof named === "string" && hasArgs ? named : null;
}

function parse(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
