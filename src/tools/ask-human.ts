import { z } from "zod";
import { AppError } from "#shared/errors.ts";
import { isJsonObject, type JsonObject } from "#shared/json.ts";
import { defineTool } from "#authoring/define-tool.ts";

/** A schema that cannot be read would make every answer to it invalid, so it is the model's mistake and not a person's. */
function isReadable(schema: JsonObject): boolean {
  try {
    z.fromJSONSchema(schema);
    return true;
  } catch {
    return false;
  }
}

/** `read`: nothing happens but that a person is asked, and that is recorded before this runs (A4). */
export const askHuman = defineTool({
  name: "ask_human",
  description:
    "Asks the user one question and waits for the answer, for days if need be. Use it when you cannot go on without a decision or a fact that only a person has. With schema the answer is JSON that fits it; without, it is text.",
  version: "1",
  effect: "read",
  approval: "question",
  input: z.object({
    question: z.string().min(1).max(2_000),
    schema: z
      .record(z.string(), z.json())
      .refine((schema) => isJsonObject(schema) && isReadable(schema), {
        error: "not a JSON Schema that can be read",
      })
      .optional(),
  }),
  question: ({ question, schema }) => ({ text: question, answerSchema: schema ?? null }),
  execute: (_args, { approval }) => {
    if (approval === null) throw new AppError("internal", "Nobody was asked.");
    return approval.answer;
  },
});
