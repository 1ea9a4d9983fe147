/**
 * What is read of the OpenAI API: Chat Completions, Responses and Models (platform.openai.com/docs/api-reference).
 *
 * Objects are loose: clients send fields of other servers and newer versions. A field that would change the answer and
 * that an agent cannot honour is refused by name (P61); the rest says how a model is sampled, which is the agent's own.
 */
import { z } from "zod";
import { isAgentName } from "#shared/ids.ts";
import { isJsonObject, type JsonObject } from "#shared/json.ts";

export const ModelName = z.string().refine(isAgentName);

const Schema = z
  .custom<JsonObject>((value) => isJsonObject(value))
  .transform((schema): JsonObject => ({ ...schema, type: "object" }));
/** Of a function that says nothing about its arguments. */
export const ANY_ARGUMENTS: JsonObject = {
  type: "object",
  properties: {},
  additionalProperties: true,
};

const TextPart = z.looseObject({
  type: z.enum(["text", "input_text", "output_text", "refusal"]),
  // Clients send back what they were given, with what it had not as null.
  text: z.string().nullish(),
  refusal: z.string().nullish(),
});
/** Text alone: an agent takes files through its workspace. */
const Content = z
  .union([z.string(), z.array(TextPart)])
  .nullish()
  .transform((content) =>
    typeof content === "string"
      ? content
      : (content ?? []).map((part) => part.text ?? part.refusal ?? "").join(""),
  );

const FunctionName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const ChatTool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: FunctionName,
    description: z.string().nullish(),
    parameters: Schema.nullish(),
  }),
});
const ChatCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

export const ChatMessage = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content: Content }),
  z.looseObject({ role: z.literal("user"), content: Content }),
  z.looseObject({
    role: z.literal("assistant"),
    content: Content,
    tool_calls: z.array(ChatCall).nullish(),
  }),
  z.looseObject({ role: z.literal("tool"), content: Content, tool_call_id: z.string() }),
]);
export type ChatMessage = z.output<typeof ChatMessage>;

const JsonFormat = z.looseObject({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
  schema: z.custom<JsonObject>((value) => isJsonObject(value)).optional(),
});
const ToolChoice = z.enum(["auto", "none"]).nullish();

/** Values that mean what is done anyway, so that clients which spell out defaults are not refused. */
const Off = {
  n: z.literal(1).nullish(),
  logprobs: z.literal(false).nullish(),
  top_logprobs: z.literal(0).nullish(),
  audio: z.null().optional(),
  modalities: z.tuple([z.literal("text")]).nullish(),
  functions: z.null().optional(),
  stop: z.union([z.null(), z.tuple([])]).optional(),
};

export const ChatBody = z.looseObject({
  ...Off,
  model: ModelName,
  messages: z.array(ChatMessage).min(1).max(2_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(ChatTool).nullish(),
  tool_choice: ToolChoice,
  response_format: z
    .discriminatedUnion("type", [
      z.looseObject({ type: z.literal("text") }),
      z.looseObject({ type: z.literal("json_object") }),
      z.looseObject({ type: z.literal("json_schema"), json_schema: JsonFormat }),
    ])
    .nullish(),
});
export type ChatBody = z.output<typeof ChatBody>;

const ResponseTool = z.looseObject({
  type: z.literal("function"),
  name: FunctionName,
  description: z.string().nullish(),
  parameters: Schema.nullish(),
});
export const InputItem = z.union([
  z.looseObject({
    type: z.literal("message").optional(),
    role: z.enum(["user", "assistant", "system", "developer"]),
    content: Content,
  }),
  z.looseObject({
    type: z.literal("function_call"),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
  z.looseObject({
    type: z.literal("function_call_output"),
    call_id: z.string(),
    output: Content,
  }),
  z.looseObject({
    type: z.literal("mcp_approval_response"),
    approval_request_id: z.string(),
    approve: z.boolean(),
    reason: z.string().nullish(),
  }),
  z.looseObject({ type: z.enum(["reasoning", "mcp_approval_request", "item_reference"]) }),
]);
export type InputItem = z.output<typeof InputItem>;

export const ResponseBody = z.looseObject({
  model: ModelName,
  input: z.union([z.string(), z.array(InputItem).min(1).max(2_000)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.null().optional(),
  prompt: z.null().optional(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  tools: z.array(ResponseTool).nullish(),
  tool_choice: ToolChoice,
  top_logprobs: z.literal(0).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  text: z
    .looseObject({
      format: z
        .discriminatedUnion("type", [
          z.looseObject({ type: z.literal("text") }),
          z.looseObject({ type: z.literal("json_object") }),
          JsonFormat.extend({ type: z.literal("json_schema") }),
        ])
        .nullish(),
    })
    .nullish(),
});
export type ResponseBody = z.output<typeof ResponseBody>;
