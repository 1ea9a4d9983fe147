/** OpenAI's Responses API: what it refuses of `input` items, and its stream. */
import { createOpenAI } from "@ai-sdk/openai";
import { AiSdkModel } from "#adapters/model/ai-sdk-model.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import {
  callProblem,
  createShape,
  frames,
  type Ledger,
  objects,
  parseJson,
  type ProviderShape,
  textOf,
  toFetch,
  type Turn,
} from "./shape.ts";

const MODEL = "gpt-5";
const NAMES = /^[a-zA-Z0-9_-]{1,64}$/;

export function openaiShape(): ProviderShape {
  return createShape({
    name: "openai",
    origin: `openai.responses/${MODEL}`,
    problem,
    sign(text, index, { issued }) {
      const key = `rs_${index}`;
      issued.set(key, { key, text });
      return {
        key,
        part: { openai: { itemId: key, reasoningEncryptedContent: `enc(${key})+/=` } },
        call: (call) => ({ openai: { itemId: `fc_${index}_${call}` } }),
      };
    },
    stream,
    toModel: (answer) =>
      new AiSdkModel({
        route: "test/openai",
        model: createOpenAI({ apiKey: "test", fetch: toFetch(answer) }).responses(MODEL),
      }),
  });
}

interface OpenTurn {
  readonly reasoning: string[];
  readonly calls: string[];
}

/** One pass over the items: an assistant's turn is what lies between two other items. */
function problem(body: JsonObject, ledger: Ledger): string | null {
  const seen = new Set<string>();
  let open: string[] = [];
  let turn: OpenTurn = { reasoning: [], calls: [] };
  let isFirst = true;
  for (const item of objects(body["input"])) {
    const kind = textOf(item["type"]) || textOf(item["role"]);
    if (kind === "system" || kind === "developer") continue;
    const isAssistant = ["assistant", "function_call", "item_reference", "reasoning"].includes(
      kind,
    );
    if (isFirst && kind !== "user") return `the first item is of ${kind}`;
    isFirst = false;
    if (!isAssistant) {
      const parted = turnProblem(turn, ledger);
      if (parted !== null) return parted;
      turn = { reasoning: [], calls: [] };
    }
    if (kind === "function_call_output") {
      const id = textOf(item["call_id"]);
      if (!open.includes(id))
        return `No tool call found for function call output with call_id ${id}`;
      if (textOf(item["output"]).trim() === "") return `the output of ${id} is empty`;
      open = open.filter((other) => other !== id);
      continue;
    }
    if (open.length > 0 && kind !== "function_call")
      return `No tool output found for ${open.join(", ")}`;
    if (kind === "function_call") {
      const id = textOf(item["call_id"]);
      const bad = callProblem({
        id,
        name: textOf(item["name"]),
        input: parseJson(item["arguments"]),
        names: NAMES,
      });
      if (bad !== null) return bad;
      if (seen.has(id)) return `Duplicate call ${id}`;
      seen.add(id);
      open.push(id);
      turn.calls.push(id);
    } else if (kind === "item_reference" || kind === "reasoning") {
      const id = textOf(item["id"]);
      if (!ledger.issued.has(id)) return `Item with id '${id}' not found`;
      if (seen.has(id)) return `Duplicate item found with id ${id}`;
      seen.add(id);
      turn.reasoning.push(id);
    } else {
      const blank = blankProblem(item["content"], kind);
      if (blank !== null) return blank;
    }
  }
  if (open.length > 0) return `No tool output found for ${open.join(", ")}`;
  return turnProblem(turn, ledger);
}

function turnProblem({ reasoning, calls }: OpenTurn, { needs }: Ledger): string | null {
  for (const id of reasoning) {
    const dependants = [...needs].filter(([, key]) => key === id).map(([callId]) => callId);
    if (!dependants.some((callId) => calls.includes(callId)))
      return `Item '${id}' of type 'reasoning' was provided without its required following item`;
    if (!dependants.every((callId) => calls.includes(callId))) return `${id} lost one of its calls`;
  }
  for (const callId of calls) {
    const key = needs.get(callId);
    if (key !== undefined && !reasoning.includes(key))
      return `Item '${callId}' of type 'function_call' was provided without its required 'reasoning' item: '${key}'`;
  }
  return null;
}

function blankProblem(content: Json | undefined, kind: string): string | null {
  const texts =
    typeof content === "string" ? [content] : objects(content).map((part) => textOf(part["text"]));
  if (texts.length === 0) return `a message of ${kind} is empty`;
  return texts.some((text) => text.trim() === "") ? `a text of ${kind} is empty` : null;
}

function stream(turn: Turn, sign: ProviderShape["sign"]): string {
  const events: Json[] = [
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: MODEL } },
  ];
  let key: ReturnType<typeof sign> | null = null;
  let calls = 0;
  for (const [output_index, part] of turn.entries()) {
    const around = (item: JsonObject, inner: readonly Json[], done: JsonObject = item): void => {
      events.push({ type: "response.output_item.added", output_index, item });
      events.push(...inner, { type: "response.output_item.done", output_index, item: done });
    };
    if ("reasoning" in part) {
      key = sign(part.reasoning);
      const item = { type: "reasoning", id: key.key, encrypted_content: null, summary: [] };
      around(
        item,
        [
          { type: "response.reasoning_summary_part.added", item_id: key.key, summary_index: 0 },
          {
            type: "response.reasoning_summary_text.delta",
            item_id: key.key,
            summary_index: 0,
            delta: part.reasoning,
          },
          { type: "response.reasoning_summary_part.done", item_id: key.key, summary_index: 0 },
        ],
        { ...item, encrypted_content: `enc(${key.key})+/=` },
      );
    } else if ("text" in part) {
      const id = `msg_${output_index}`;
      const delta = { type: "response.output_text.delta", item_id: id, delta: part.text };
      around({ type: "message", id }, [delta]);
    } else {
      const { name, args } = part.call;
      const item = {
        type: "function_call",
        id: `fc_${output_index}`,
        call_id: `call_${calls}`,
        name,
        arguments: args,
      };
      calls += 1;
      around({ ...item, arguments: "" }, [], { ...item, status: "completed" });
    }
  }
  const usage = { input_tokens: 3, output_tokens: 2 };
  events.push({ type: "response.completed", response: { incomplete_details: null, usage } });
  return frames(events);
}
