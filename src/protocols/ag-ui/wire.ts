/** What is read of AG-UI 1.0 (`RunAgentInput`, docs.ag-ui.com). Loose, because clients of newer minor versions send more. */
import { z } from "zod";
import { isThreadId } from "#shared/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";

const AnyJson = z.unknown().transform((value) => (value ?? null) as Json);
const ClientId = z.string().min(1).max(256);

const TextPart = z.looseObject({ type: z.literal("text"), text: z.string() });
/** Text alone: an agent takes files through its workspace. */
const Content = z
  .union([z.string(), z.array(TextPart)])
  .optional()
  .transform((content) =>
    typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join(""),
  );

const Message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.literal("user"), id: ClientId, content: Content }),
  z.looseObject({
    role: z.literal("tool"),
    id: ClientId,
    content: Content,
    toolCallId: z.string(),
  }),
  z.looseObject({
    role: z.enum(["assistant", "system", "developer", "activity", "reasoning"]),
    id: ClientId,
  }),
]);

export const RunInput = z.looseObject({
  threadId: z.string().refine(isThreadId, {
    error: "1 to 64 of A-Z, a-z, 0-9, _ and -, starting with a letter or digit",
  }),
  runId: ClientId,
  state: AnyJson.optional(),
  messages: z.array(Message).max(10_000).default([]),
  tools: z
    .array(
      z.looseObject({
        name: z.string(),
        description: z.string().default(""),
        parameters: z
          .unknown()
          .transform((schema): JsonObject =>
            isJsonObject(schema) ? { ...schema, type: "object" } : { type: "object" },
          ),
      }),
    )
    .default([]),
  context: z.array(z.looseObject({ description: z.string(), value: z.string() })).default([]),
  resume: z
    .array(
      z.looseObject({
        interruptId: z.string(),
        status: z.enum(["resolved", "cancelled"]),
        payload: AnyJson.optional(),
      }),
    )
    .default([]),
});
export type RunInput = z.output<typeof RunInput>;

/** An event of the stream: its type and that type's fields. */
export type AgUiEvent = { readonly type: string } & JsonObject;
