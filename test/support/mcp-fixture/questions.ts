/** Tools of the fixture that ask their client: forms, a sample of its model, its folders. */
import { z } from "zod";
import { defineTool, defineToolFromJsonSchema } from "#authoring/define-tool.ts";
import type { ClientRequest, HumanDecision, Tool } from "#ports/tool.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "#shared/json.ts";

interface Asking {
  readonly name: string;
  readonly key: string;
  readonly method?: ClientRequest["method"];
  readonly params: JsonObject | ((args: JsonObject) => JsonObject);
  readonly input?: JsonObject;
  readonly answer: (answer: Json, args: JsonObject) => string;
}

export function asking({ name, key, method, params, input, answer }: Asking): Tool {
  return defineToolFromJsonSchema({
    name,
    description: `Asks its client, for the suite: ${name}.`,
    version: "1",
    inputSchema: input ?? { type: "object", properties: {} },
    effect: "read",
    approval: "question",
    question: (args) => {
      const asked = typeof params === "function" ? params(args) : params;
      const schema = asked["requestedSchema"];
      return {
        text: typeof asked["message"] === "string" ? asked["message"] : name,
        answerSchema: isJsonObject(schema) ? schema : {},
        client: { key, method: method ?? "elicitation/create", params: asked },
      };
    },
    execute: (args, { approval }) => answer(answerOf(approval), args),
  });
}

export function form(message: string, properties: JsonObject, required?: readonly string[]) {
  const requestedSchema = {
    type: "object",
    properties,
    required: required ?? Object.keys(properties),
  };
  return { message, requestedSchema };
}

export function sample(text: string, maxTokens = 100): JsonObject {
  return { messages: [{ role: "user", content: { type: "text", text } }], maxTokens };
}

export function valueOf(answer: Json, key: string): string {
  const value = isJsonObject(answer) ? answer[key] : null;
  return typeof value === "string" ? value : canonicalJson(value ?? null);
}

export function sampled(answer: Json): string {
  const content = isJsonObject(answer) ? answer["content"] : null;
  return isJsonObject(content) ? valueOf(content, "text") : canonicalJson(answer);
}

function answerOf(approval: HumanDecision | null): Json {
  return approval?.answer ?? null;
}

const TEXT = { type: "string" } as const;
const NAME = { name: TEXT };
const ROOTS = { method: "roots/list", params: {} } as const;

export const QUESTIONS: readonly Tool[] = [
  asking({
    name: "test_sampling",
    key: "sample",
    method: "sampling/createMessage",
    input: { type: "object", properties: { prompt: TEXT }, required: ["prompt"] },
    params: ({ prompt }) => sample(String(prompt)),
    answer: (answer) => `LLM response: ${sampled(answer)}`,
  }),
  asking({
    name: "test_elicitation",
    key: "user",
    input: { type: "object", properties: { message: TEXT }, required: ["message"] },
    params: ({ message }) =>
      form(String(message), {
        username: { type: "string", description: "User's response" },
        email: { type: "string", description: "User's email address" },
      }),
    answer: (answer) => `User response: action=accept, content=${canonicalJson(answer)}`,
  }),
  asking({
    name: "test_elicitation_sep1034_defaults",
    key: "profile",
    params: form(
      "Your profile, please.",
      {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      },
      [],
    ),
    answer: (answer) => `Elicitation completed: action=accept, content=${canonicalJson(answer)}`,
  }),
  asking({
    name: "test_elicitation_sep1330_enums",
    key: "choices",
    params: form(
      "Choose, please.",
      {
        untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
        titledSingle: {
          type: "string",
          oneOf: [
            { const: "value1", title: "First Option" },
            { const: "value2", title: "Second Option" },
            { const: "value3", title: "Third Option" },
          ],
        },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: {
          type: "array",
          items: { type: "string", enum: ["option1", "option2", "option3"] },
        },
        titledMulti: {
          type: "array",
          items: {
            anyOf: [
              { const: "value1", title: "First Choice" },
              { const: "value2", title: "Second Choice" },
              { const: "value3", title: "Third Choice" },
            ],
          },
        },
      },
      [],
    ),
    answer: (answer) => `Elicitation completed: action=accept, content=${canonicalJson(answer)}`,
  }),
  ...["test_input_required_result_elicitation", "test_streaming_elicitation"].map((name) =>
    asking({
      name,
      key: "user_name",
      params: form("What is your name?", NAME),
      answer: (answer) => `Hello, ${valueOf(answer, "name")}!`,
    }),
  ),
  ...["test_input_required_result_sampling", "test_missing_capability"].map((name) =>
    asking({
      name,
      key: "capital_question",
      method: "sampling/createMessage",
      params: sample("What is the capital of France?"),
      answer: sampled,
    }),
  ),
  asking({
    name: "test_input_required_result_capabilities",
    key: "capital_question",
    method: "sampling/createMessage",
    params: sample("What is the capital of France?"),
    answer: sampled,
  }),
  asking({
    name: "test_input_required_result_list_roots",
    key: "client_roots",
    ...ROOTS,
    answer: (answer) => `Roots: ${canonicalJson(answer)}`,
  }),
  ...["test_input_required_result_request_state", "test_input_required_result_tampered_state"].map(
    (name) =>
      asking({
        name,
        key: "confirm",
        params: form("Please confirm", { ok: { type: "boolean" } }),
        answer: () => "state-ok",
      }),
  ),
  asking({
    name: "test_tool_with_task",
    key: "user_name",
    params: form("What is your name?", NAME),
    answer: (answer) => `Hello, ${valueOf(answer, "name")}!`,
  }),
  asking({
    name: "confirm_delete",
    key: "confirm",
    input: { type: "object", properties: { filename: TEXT } },
    params: ({ filename }) =>
      form(`Delete ${valueOf(filename ?? null, "")}?`, { confirm: { type: "boolean" } }),
    answer: (answer) => `deleted: ${valueOf(answer, "confirm")}`,
  }),
];

/** Parts of plans: not exported by themselves. */
export const askName = asking({
  name: "ask_name",
  key: "user_name",
  params: form("What is your name?", NAME),
  answer: (answer) => valueOf(answer, "name"),
});
export const askGreeting = asking({
  name: "ask_greeting",
  key: "greeting",
  method: "sampling/createMessage",
  params: sample("Generate a greeting", 50),
  answer: sampled,
});
export const askRoots = asking({
  name: "ask_roots",
  key: "client_roots",
  ...ROOTS,
  answer: (answer) => canonicalJson(answer),
});
export const askStep = defineTool({
  name: "ask_step",
  description: "One step of a form.",
  version: "1",
  input: z.object({ key: z.string(), message: z.string(), field: z.string() }),
  effect: "read",
  approval: "question",
  question: ({ key, message, field }) => {
    const params = form(message, { [field]: TEXT });
    return {
      text: message,
      answerSchema: params.requestedSchema,
      client: { key, method: "elicitation/create", params },
    };
  },
  execute: ({ field }, { approval }) => valueOf(approval?.answer ?? null, field),
});
