/**
 * UI messages: a thread's messages in the shape that AI SDK chats render (`UIMessage` of ai 7). Pure.
 *
 * P26 ids are stable and known before anything streams: a user message keeps the id its client gave it, and all
 * answers of one run are one assistant message whose id is the run's id.
 */
import type { OpenApproval } from "#ports/socket-protocol.ts";
import type { MessageView } from "#ports/thread-gateway.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";

export interface UiMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly JsonObject[];
  readonly [field: string]: Json;
}

interface Draft {
  readonly id: string;
  readonly parts: JsonObject[];
}

export function toUiMessages(
  views: readonly MessageView[],
  open: readonly OpenApproval[],
): readonly UiMessage[] {
  const messages: UiMessage[] = [];
  const answers = new Map<string, Draft>();
  const waiting = new Map(open.map((approval) => [approval.callId, approval]));
  for (const view of views) {
    if (view.role === "user") {
      messages.push(toUserMessage(view));
      continue;
    }
    const id = view.runId ?? view.messageId;
    let answer = answers.get(id);
    if (answer === undefined) {
      answer = { id, parts: [] };
      answers.set(id, answer);
      messages.push({ id, role: "assistant", parts: answer.parts });
    }
    if (view.role === "assistant") addAnswer(answer.parts, view, waiting);
    else addResult(answer.parts, view);
  }
  return messages.filter(({ role, parts }) => role === "user" || parts.length > 0);
}

/** An erased message keeps its place and its id. */
function toUserMessage({ messageId, content }: MessageView): UiMessage {
  const parts = Array.isArray(content) ? content.filter(isJsonObject) : [];
  const text = parts.map((part) => textOf(part["text"])).join("");
  return { id: messageId, role: "user", parts: [{ type: "text", text }] };
}

function addAnswer(
  parts: JsonObject[],
  { content }: MessageView,
  waiting: ReadonlyMap<string, OpenApproval>,
): void {
  if (!Array.isArray(content)) return;
  parts.push({ type: "step-start" });
  for (const part of content.filter(isJsonObject)) {
    if (part["type"] === "call") {
      parts.push(toCallPart(part, waiting.get(textOf(part["callId"]))));
    } else if (textOf(part["text"]) !== "") {
      const type = part["type"] === "reasoning" ? "reasoning" : "text";
      parts.push({ type, text: textOf(part["text"]), state: "done" });
    }
  }
}

function toCallPart(part: JsonObject, waiting: OpenApproval | undefined): JsonObject {
  const base = {
    type: `tool-${textOf(part["name"])}`,
    toolCallId: textOf(part["callId"]),
    input: part["args"] ?? {},
  };
  if (waiting?.kind !== "tool") return { ...base, state: "input-available" };
  return { ...base, state: "approval-requested", approval: { id: waiting.approvalId } };
}

function addResult(parts: JsonObject[], { content }: MessageView): void {
  if (!isJsonObject(content)) return;
  const index = parts.findIndex((part) => part["toolCallId"] === content["callId"]);
  const part = parts[index];
  if (part === undefined) return;
  parts[index] = { ...part, ...toResult(content) };
}

function toResult(content: JsonObject): JsonObject {
  const output = textOf(content["output"]);
  if (content["status"] === "ok") return { state: "output-available", output: toOutput(output) };
  if (isDenial(content["code"])) {
    const approval = { id: textOf(content["callId"]), approved: false, reason: output };
    return { state: "output-denied", approval };
  }
  return { state: "output-error", errorText: output };
}

/** A person said no: shown as a denial, not as a fault of the tool. */
export function isDenial(code: Json | undefined): boolean {
  return code === "denied_by_human";
}

/** What a tool answered as JSON is shown as JSON; any other text, and a cut preview, as the text it is. */
export function toOutput(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    // Text of `JSON.parse` is JSON by definition.
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
