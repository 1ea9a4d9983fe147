/** What providers of the Chat Completions API refuse of `messages`; null when it is fine. */
import { isJsonObject, type Json, toWellFormedJson } from "#shared/json.ts";
import { callProblem, objects, parseJson, textOf } from "./shape.ts";

const NAMES = /^[a-zA-Z0-9_-]{1,64}$/;

export function chatHistoryProblem(messages: Json): string | null {
  if (!Array.isArray(messages)) return "messages must be a list";
  let open: string[] = [];
  const seen = new Set<string>();
  let isFirst = true;
  for (const message of messages as readonly Json[]) {
    if (!isJsonObject(message)) return "a message must be an object";
    const { role, content, tool_calls: calls, tool_call_id: answered } = message;
    if (role === "tool") {
      if (typeof answered !== "string" || !open.includes(answered))
        return `tool result without its call: ${String(answered)}`;
      open = open.filter((id) => id !== answered);
    } else if (open.length > 0) return `tool calls without results: ${open.join(", ")}`;
    if (role !== "system" && isFirst) {
      if (role !== "user") return `the first message is of ${textOf(role)}`;
      isFirst = false;
    }
    if (typeof content === "string" && content.trim() === "" && !Array.isArray(calls))
      return `empty text in a message of ${textOf(role)}`;
    if (toWellFormedJson(message) !== message) return "text is not well-formed Unicode";
    for (const call of objects(calls)) {
      const id = textOf(call["id"]);
      const { name, arguments: args } = isJsonObject(call["function"]) ? call["function"] : {};
      const bad = callProblem({ id, name: textOf(name), input: parseJson(args), names: NAMES });
      if (bad !== null) return bad;
      if (seen.has(id)) return "two calls share an id";
      seen.add(id);
      open.push(id);
    }
  }
  return open.length > 0 ? `tool calls without results: ${open.join(", ")}` : null;
}
