/** Workers AI behind its binding: chat messages, and `extra_content` that a signed turn must bring back. */
import { WorkersAiModel } from "#adapters/model/workers-ai-model.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { chatHistoryProblem } from "./chat-history.ts";
import {
  createShape,
  type Ledger,
  objects,
  type ProviderShape,
  textOf,
  toObject,
  type Turn,
} from "./shape.ts";

const MODEL = "@cf/zai-org/glm-4.7-flash";

export function workersAiShape(): ProviderShape {
  return createShape({
    name: "workers-ai",
    origin: `cloudflare/${MODEL}`,
    problem: (body, ledger) =>
      chatHistoryProblem(body["messages"] ?? null) ?? signatureProblem(body, ledger),
    sign(text, index, { issued }) {
      const key = `Extra${index}+/==`;
      issued.set(key, { key, text });
      const metadata: JsonObject = {
        cloudflare: { toolExtraContent: { google: { thought_signature: key } } },
      };
      return { key, part: null, call: () => metadata };
    },
    stream,
    toModel: (answer) =>
      new WorkersAiModel({
        route: "test/workers-ai",
        modelId: MODEL,
        binding: {
          run: async (_model: string, input: unknown) => answer(toObject(input)),
        } as unknown as Ai,
      }),
  });
}

function signatureProblem(body: JsonObject, { issued, needs }: Ledger): string | null {
  for (const call of objects(body["messages"]).flatMap((message) =>
    objects(message["tool_calls"]),
  )) {
    const extra = call["extra_content"];
    const google = isJsonObject(extra) ? extra["google"] : null;
    const signature = isJsonObject(google ?? null)
      ? textOf((google as JsonObject)["thought_signature"])
      : "";
    if (signature !== "" && !issued.has(signature)) return "thought signature is not valid";
    const key = needs.get(textOf(call["id"]));
    if (key !== undefined && key !== signature)
      return `${textOf(call["id"])} lost its thought signature`;
  }
  return null;
}

function stream(turn: Turn, sign: ProviderShape["sign"]): string {
  const chunk = (delta: Json, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: "r1", model: MODEL, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  let calls = 0;
  let signature: string | null = null;
  const body = turn.map((part) => {
    if ("reasoning" in part) {
      signature = sign(part.reasoning).key;
      return chunk({ reasoning_content: part.reasoning });
    }
    if ("text" in part) return chunk({ content: part.text });
    const index = calls;
    calls += 1;
    const extra =
      signature === null ? {} : { extra_content: { google: { thought_signature: signature } } };
    const { name, args } = part.call;
    return chunk({
      tool_calls: [
        {
          index,
          id: `call_${index}`,
          type: "function",
          function: { name, arguments: args },
          ...extra,
        },
      ],
    });
  });
  return `${body.join("")}${chunk({}, calls > 0 ? "tool_calls" : "stop")}data: [DONE]\n\n`;
}
