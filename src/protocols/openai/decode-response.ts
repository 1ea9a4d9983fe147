/**
 * Requests of the Responses API to commands.
 *
 * P62 a response with `previous_response_id` continues that thread; results of functions and answers to approvals go on with
 * the run that asked, wherever the history around them came from.
 */
import type { OutputSpec } from "#ports/model.ts";
import type { DecisionVerb } from "#kernel/events.ts";
import type { RunExtras } from "#ports/thread-gateway.ts";
import type { ThreadId } from "#shared/ids.ts";
import type { Json } from "#shared/json.ts";
import { isJsonObject } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { invalid, type Refused } from "./errors.ts";
import { quoteHistory } from "./history.ts";
import { parseCallId, parseResponseId, type CallPlace, type ResponsePlace } from "./ids.ts";
import { ANY_ARGUMENTS, type InputItem, type ResponseBody } from "./wire.ts";

export interface GivenDecision {
  readonly place: CallPlace;
  readonly decision: DecisionVerb;
  readonly answer: Json;
  readonly comment: string | null;
}
export type ResponsePlan =
  | {
      readonly type: "begin";
      /** Null: a thread of its own. */
      readonly previous: ResponsePlace | null;
      readonly text: string;
      readonly extras: RunExtras;
      readonly output: OutputSpec | null;
    }
  | {
      readonly type: "go_on";
      readonly thread: ThreadId;
      readonly decisions: readonly GivenDecision[];
      readonly text: string;
    };

export function planResponse(body: ResponseBody): Result<ResponsePlan, Refused> {
  if (body.store === false) {
    return err(
      invalid(
        "A run is always recorded. Its payloads can be erased over /v1.",
        "store",
        "unsupported_value",
      ),
    );
  }
  const { previous_response_id: previousId } = body;
  const previous = previousId == null ? null : parseResponseId(previousId);
  if (previousId != null && previous === null) return err(unknownResponse("previous_response_id"));
  const items: readonly InputItem[] =
    typeof body.input === "string" ? [{ role: "user", content: body.input }] : body.input;
  const spoken = items.filter((item) => !isInstruction(item));
  const behind = spoken.slice(spoken.findLastIndex(isOfAgent) + 1);
  const text = behind
    .map(userText)
    .filter((said) => said !== "")
    .join("\n\n");
  const decisions = toDecisions(behind);
  if (!decisions.ok) return decisions;
  const [first] = decisions.value;
  if (first !== undefined) {
    const { thread } = first.place;
    return ok({ type: "go_on", thread, decisions: decisions.value, text });
  }
  if (text.trim() === "") return err(invalid("The input holds no text of the user.", "input"));
  const before = spoken.slice(0, spoken.length - behind.length);
  const history = previous === null ? quoteHistory(before.flatMap(toQuoted)) : null;
  const instructions = [body.instructions ?? "", ...items.filter(isInstruction).map(contentOf)]
    .filter((part) => part !== "")
    .join("\n\n");
  return ok({
    type: "begin",
    previous,
    text,
    output: toOutput(body),
    extras: {
      tools: toTools(body),
      instructions: instructions === "" ? null : instructions,
      history,
    },
  });
}

export function unknownResponse(param: string): Refused {
  const message = "There is no such response: it does not exist, or it is not yours.";
  return {
    status: 404,
    error: { message, type: "invalid_request_error", param, code: "not_found" },
    retry: false,
  };
}

function toDecisions(items: readonly InputItem[]): Result<readonly GivenDecision[], Refused> {
  const decisions: GivenDecision[] = [];
  for (const item of items) {
    if (item.type === "function_call_output") {
      const place = parseCallId(item.call_id);
      if (place === null) return err(unknownCall("call_id"));
      decisions.push({ place, decision: "answer", answer: item.output, comment: null });
    } else if (item.type === "mcp_approval_response") {
      const place = parseCallId(item.approval_request_id);
      if (place === null) return err(unknownCall("approval_request_id"));
      const decision = item.approve ? "approve" : "deny";
      decisions.push({ place, decision, answer: null, comment: item.reason ?? null });
    }
  }
  if (new Set(decisions.map(({ place }) => place.thread)).size > 1)
    return err(invalid("The results are of different responses.", "input", "unknown_call"));
  return ok(decisions);
}

function unknownCall(field: string): Refused {
  return invalid(`A ${field} is not one that this server gave.`, "input", "unknown_call");
}

/** What the agent said or asked: everything behind it is new. */
function isOfAgent(item: InputItem): boolean {
  if (item.type === undefined || item.type === "message") return item.role === "assistant";
  return item.type !== "function_call_output" && item.type !== "mcp_approval_response";
}

function isInstruction(item: InputItem): boolean {
  const isMessage = item.type === undefined || item.type === "message";
  return isMessage && (item.role === "system" || item.role === "developer");
}

function contentOf(item: InputItem): string {
  return item.type === undefined || item.type === "message" ? item.content : "";
}

function userText(item: InputItem): string {
  const isMessage = item.type === undefined || item.type === "message";
  return isMessage && item.role === "user" ? item.content : "";
}

function toQuoted(item: InputItem): readonly object[] {
  if (item.type === undefined || item.type === "message")
    return [{ role: item.role, content: item.content }];
  if (item.type === "function_call")
    return [{ role: "assistant", call: item.name, arguments: item.arguments }];
  return item.type === "function_call_output" ? [{ role: "tool", content: item.output }] : [];
}

function toTools({ tools, tool_choice: choice }: ResponseBody): RunExtras["tools"] {
  if (choice === "none") return [];
  return (tools ?? []).map(({ name, description, parameters }) => ({
    name,
    description: description ?? "",
    inputSchema: parameters ?? ANY_ARGUMENTS,
  }));
}

function toOutput({ text }: ResponseBody): OutputSpec | null {
  const format = text?.format;
  if (format?.type === "json_object") return { name: "answer", schema: { type: "object" } };
  if (format?.type !== "json_schema") return null;
  const { name, schema } = format;
  return { name, schema: isJsonObject(schema) ? schema : {} };
}
