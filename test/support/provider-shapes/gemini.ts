/** Gemini's streamGenerateContent: what it refuses of `contents`, and its stream. */
import { createGoogle } from "@ai-sdk/google";
import { AiSdkModel } from "#adapters/model/ai-sdk-model.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import {
  callProblem,
  createShape,
  type Ledger,
  objects,
  type ProviderShape,
  textOf,
  toFetch,
  type Turn,
} from "./shape.ts";

const MODEL = "gemini-3-pro-preview";
const NAMES = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/;
/** What the SDK sends for calls of another provider, as documented. */
const NO_SIGNATURE = "skip_thought_signature_validator";

export function geminiShape(): ProviderShape {
  return createShape({
    name: "gemini",
    origin: `google.generative-ai/${MODEL}`,
    problem,
    sign(text, index, { issued }) {
      const key = `Thought${index}+/==`;
      issued.set(key, { key, text });
      // One signature for a whole answer: on its first call.
      const metadata: JsonObject = { google: { thoughtSignature: key } };
      return { key, part: null, call: (call) => (call === 0 ? metadata : null) };
    },
    stream,
    toModel: (answer) =>
      new AiSdkModel({
        route: "test/gemini",
        model: createGoogle({ apiKey: "test", fetch: toFetch(answer) }).languageModel(MODEL),
      }),
  });
}

function problem(body: JsonObject, ledger: Ledger): string | null {
  let open: readonly string[] = [];
  let before = "";
  const seen = new Set<string>();
  for (const { role, parts } of objects(body["contents"])) {
    const list = objects(parts);
    if (list.length === 0) return "contents.parts must not be empty";
    if (before === "" && role !== "user") return "contents must begin with a user turn";
    if (role === "model" && before === "model")
      return "function call turn must come immediately after a user turn or a function response turn";
    before = textOf(role);
    const answers = list.flatMap((part) => objectOf(part["functionResponse"]));
    const names = answers.map((answer) => textOf(answer["name"]));
    if (names.join(" ") !== open.join(" "))
      return `function response parts [${names.join(", ")}] must equal function call parts [${open.join(", ")}] of the call turn`;
    const found =
      list.map((part) => textProblem(part)).find((item) => item !== null) ??
      modelProblem(list, seen, ledger);
    if (found !== null) return found;
    open = list.flatMap((part) =>
      objectOf(part["functionCall"]).map((call) => textOf(call["name"])),
    );
  }
  if (open.length > 0) return `function calls without responses: ${open.join(", ")}`;
  return before === "user" ? null : "contents must end with a user turn";
}

function objectOf(value: Json | undefined): readonly JsonObject[] {
  return isJsonObject(value) ? [value] : [];
}

function textProblem(part: JsonObject): string | null {
  const answer = part["functionResponse"];
  if (isJsonObject(answer)) {
    const { response } = answer;
    const { content, error } = isJsonObject(response) ? response : {};
    return textOf(content ?? error).trim() === "" ? "a function response is empty" : null;
  }
  if (part["functionCall"] !== undefined || part["thought"] === true) return null;
  return textOf(part["text"]).trim() === "" ? "a text part is empty" : null;
}

function modelProblem(
  parts: readonly JsonObject[],
  seen: Set<string>,
  { issued, needs }: Ledger,
): string | null {
  const calls = parts.filter((part) => isJsonObject(part["functionCall"]));
  const signatures = calls.map((part) => textOf(part["thoughtSignature"]));
  if (calls.length > 0 && signatures[0] === "")
    return "Function call is missing a thought_signature";
  for (const [index, { functionCall }] of calls.entries()) {
    const call = isJsonObject(functionCall) ? functionCall : {};
    const id = textOf(call["id"]);
    const bad = callProblem({ id, name: textOf(call["name"]), input: call["args"], names: NAMES });
    if (bad !== null) return bad;
    if (seen.has(id)) return `function call ${id} stands twice`;
    seen.add(id);
    const signature = signatures[index] ?? "";
    if (signature !== "" && signature !== NO_SIGNATURE && !issued.has(signature))
      return "Thought signature is not valid";
    const key = needs.get(id);
    if (key !== undefined && !signatures.includes(key))
      return `${id} lost the thought signature of its turn`;
  }
  return null;
}

function stream(turn: Turn, sign: ProviderShape["sign"]): string {
  let signature: string | null = null;
  const parts = turn.map((part): Json => {
    if ("reasoning" in part) {
      signature = sign(part.reasoning).key;
      return { text: part.reasoning, thought: true };
    }
    if ("text" in part) return { text: part.text };
    const { name, args } = part.call;
    const call = { functionCall: { name, args: JSON.parse(args) as Json } };
    if (signature === null) return call;
    const signed = { ...call, thoughtSignature: signature };
    signature = null;
    return signed;
  });
  const chunk = {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
