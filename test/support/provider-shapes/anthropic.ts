/** Anthropic's Messages API: what it refuses of `messages`, and its stream. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { AiSdkModel } from "#adapters/model/ai-sdk-model.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import {
  callProblem,
  createShape,
  frames,
  type Ledger,
  objects,
  type ProviderShape,
  textOf,
  toFetch,
  type Turn,
} from "./shape.ts";

const MODEL = "claude-sonnet-4-5";
const NAMES = /^[a-zA-Z0-9_-]{1,128}$/;

export function anthropicShape(): ProviderShape {
  return createShape({
    name: "anthropic",
    origin: `anthropic.messages/${MODEL}`,
    problem,
    sign(text, index, { issued }) {
      const key = `Sig${index}+/é==`;
      issued.set(key, { key, text });
      return { key, part: { anthropic: { signature: key } }, call: () => null };
    },
    stream,
    toModel: (answer) =>
      new AiSdkModel({
        route: "test/anthropic",
        model: createAnthropic({ apiKey: "test", fetch: toFetch(answer) }).languageModel(MODEL),
      }),
  });
}

function problem(body: JsonObject, ledger: Ledger): string | null {
  const messages = objects(body["messages"]);
  const seen = new Set<string>();
  let open: readonly string[] = [];
  let before = "assistant";
  for (const { role, content } of messages) {
    if (role === before) return `messages: roles must alternate, two of ${textOf(role)}`;
    before = textOf(role);
    const blocks = objects(content);
    const found =
      contentProblem(blocks) ??
      (role === "user" ? resultProblem(blocks, open) : answerProblem(blocks, seen, ledger));
    if (found !== null) return found;
    open = role === "user" ? [] : usesOf(blocks);
  }
  if (open.length > 0)
    return `tool_use ids were found without tool_result blocks: ${open.join(", ")}`;
  return before === "user" ? null : "the conversation must end with a user message";
}

function usesOf(blocks: readonly JsonObject[]): readonly string[] {
  return blocks.filter(({ type }) => type === "tool_use").map(({ id }) => textOf(id));
}

function contentProblem(blocks: readonly JsonObject[]): string | null {
  if (blocks.length === 0) return "all messages must have non-empty content";
  const isBlank = blocks.some(({ type, text }) => type === "text" && textOf(text).trim() === "");
  return isBlank ? "text content blocks must contain non-whitespace text" : null;
}

function resultProblem(blocks: readonly JsonObject[], open: readonly string[]): string | null {
  const results = blocks.filter(({ type }) => type === "tool_result");
  const ids = results.map((block) => textOf(block["tool_use_id"]));
  const missing = open.filter((id) => !ids.includes(id));
  if (missing.length > 0)
    return `tool_use ids were found without tool_result blocks immediately after: ${missing.join(", ")}`;
  const extra = ids.filter((id) => !open.includes(id));
  if (extra.length > 0)
    return `unexpected tool_use_id found in tool_result blocks: ${extra.join(", ")}`;
  if (new Set(ids).size !== ids.length) return "each tool_use must have a single result";
  if (blocks.slice(0, results.length).some(({ type }) => type !== "tool_result"))
    return "tool_result blocks must come first";
  const isBlank = results.some(({ content }) =>
    typeof content === "string"
      ? content.trim() === ""
      : objects(content).some(({ text }) => textOf(text).trim() === ""),
  );
  return isBlank ? "a tool_result is empty" : null;
}

function answerProblem(
  blocks: readonly JsonObject[],
  seen: Set<string>,
  { issued, needs }: Ledger,
): string | null {
  const signatures: string[] = [];
  for (const block of blocks) {
    if (block["type"] === "thinking") {
      const signature = textOf(block["signature"]);
      if (issued.get(signature)?.text !== block["thinking"])
        return "Invalid `signature` in `thinking` block";
      signatures.push(signature);
    }
    if (block["type"] !== "tool_use") continue;
    const id = textOf(block["id"]);
    const bad = callProblem({
      id,
      name: textOf(block["name"]),
      input: block["input"],
      names: NAMES,
    });
    if (bad !== null) return bad;
    if (seen.has(id)) return "`tool_use` ids must be unique";
    seen.add(id);
    const key = needs.get(id);
    if (key !== undefined && !signatures.includes(key)) return `${id} lost its thinking block`;
  }
  const uses = usesOf(blocks);
  const parted = signatures.find((key) => !uses.some((id) => needs.get(id) === key));
  return parted === undefined ? null : "a thinking block without its tool_use";
}

function stream(turn: Turn, sign: ProviderShape["sign"]): string {
  const usage = { input_tokens: 3, output_tokens: 2 };
  const events: Json[] = [
    { type: "message_start", message: { id: "msg_1", model: MODEL, role: "assistant", usage } },
  ];
  const block = (index: number, start: JsonObject, deltas: readonly JsonObject[]): void => {
    events.push({ type: "content_block_start", index, content_block: start });
    for (const delta of deltas) events.push({ type: "content_block_delta", index, delta });
    events.push({ type: "content_block_stop", index });
  };
  for (const [index, part] of turn.entries()) {
    if ("reasoning" in part) {
      const { key } = sign(part.reasoning);
      block(index, { type: "thinking", thinking: "" }, [
        { type: "thinking_delta", thinking: part.reasoning },
        { type: "signature_delta", signature: key },
      ]);
    } else if ("text" in part) {
      block(index, { type: "text", text: "" }, [{ type: "text_delta", text: part.text }]);
    } else {
      const { name, args } = part.call;
      block(index, { type: "tool_use", id: `toolu_${index}`, name, input: {} }, [
        { type: "input_json_delta", partial_json: args },
      ]);
    }
  }
  const stop = turn.some((part) => "call" in part) ? "tool_use" : "end_turn";
  events.push(
    {
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: 2 },
    },
    { type: "message_stop" },
  );
  return frames(events);
}
