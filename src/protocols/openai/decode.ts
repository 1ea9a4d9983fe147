/**
 * Requests of the OpenAI API to commands.
 *
 * P61 each request of Chat Completions begins a thread of its own with the history that the client sends, which is untrusted
 * and enters as a quotation; results of its functions go on with the very run that asked. P62 a response continues the thread
 * of the one before it.
 */
import type { CallerTool, RunExtras } from "#ports/thread-gateway.ts";
import type { OutputSpec } from "#ports/model.ts";
import type { ThreadId } from "#shared/ids.ts";
import { isJsonObject } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { invalid, type Refused } from "./errors.ts";
import { quoteHistory } from "./history.ts";
import { parseCallId, type CallPlace } from "./ids.ts";
import { ANY_ARGUMENTS, type ChatBody, type ChatMessage } from "./wire.ts";

/** What the caller found out, for the call that waits for it. */
export interface GivenResult {
  readonly place: CallPlace;
  readonly output: string;
}
export type ChatPlan =
  | {
      readonly type: "begin";
      readonly text: string;
      readonly extras: RunExtras;
      readonly output: OutputSpec | null;
    }
  | {
      readonly type: "go_on";
      readonly thread: ThreadId;
      readonly results: readonly GivenResult[];
      /** What the user said beside the results. */
      readonly text: string;
    };

export function planChat(body: ChatBody): Result<ChatPlan, Refused> {
  const spoken = body.messages.filter(({ role }) => role !== "system" && role !== "developer");
  const tail = spoken.at(-1);
  if (tail === undefined || tail.role === "assistant")
    return err(invalid("The last message must be of role user or tool.", "messages"));
  const lastAssistant = spoken.findLastIndex(({ role }) => role === "assistant");
  const behind = spoken.slice(lastAssistant + 1);
  const text = behind.flatMap((m) => (m.role === "user" ? [m.content] : [])).join("\n\n");
  if (behind.some(({ role }) => role === "tool")) return goOn(behind, text);
  if (text.trim() === "") return err(invalid("The user message is empty.", "messages"));
  const instructions = body.messages
    .flatMap((m) => (m.role === "system" || m.role === "developer" ? [m.content] : []))
    .join("\n\n");
  return ok({
    type: "begin",
    text,
    output: toOutput(body.response_format),
    extras: {
      tools: body.tool_choice === "none" ? [] : (body.tools ?? []).map(toCallerTool),
      instructions: instructions.trim() === "" ? null : instructions,
      history: quoteHistory(spoken.slice(0, lastAssistant + 1).map(toQuoted)),
    },
  });
}

function goOn(behind: readonly ChatMessage[], text: string): Result<ChatPlan, Refused> {
  const results: GivenResult[] = [];
  for (const message of behind) {
    if (message.role !== "tool") continue;
    const place = parseCallId(message.tool_call_id);
    if (place === null) {
      return err(
        invalid("A tool_call_id is not one that this server gave.", "messages", "unknown_call"),
      );
    }
    results.push({ place, output: message.content });
  }
  const [thread, ...others] = new Set(results.map(({ place }) => place.thread));
  if (thread === undefined || others.length > 0)
    return err(invalid("The tool results are of different answers.", "messages", "unknown_call"));
  return ok({ type: "go_on", thread, results, text });
}

function toQuoted(message: ChatMessage): object {
  const { role, content } = message;
  const calls =
    message.role === "assistant" ? (message.tool_calls ?? []).map((call) => call.function) : [];
  return { role, content, ...(calls.length === 0 ? {} : { calls }) };
}

function toCallerTool({ function: tool }: NonNullable<ChatBody["tools"]>[number]): CallerTool {
  const { name, description, parameters } = tool;
  return { name, description: description ?? "", inputSchema: parameters ?? ANY_ARGUMENTS };
}

type JsonFormat =
  | { readonly type: "text" | "json_object" }
  | { readonly type: "json_schema"; readonly json_schema: { name: string; schema?: unknown } };

function toOutput(format: JsonFormat | null | undefined): OutputSpec | null {
  if (format?.type === "json_object") return { name: "answer", schema: { type: "object" } };
  if (format?.type !== "json_schema") return null;
  const { name, schema } = format.json_schema;
  return { name, schema: isJsonObject(schema) ? schema : {} };
}
