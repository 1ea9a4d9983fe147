import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import { defineTool } from "#authoring/define-tool.ts";
import { askHuman } from "#tools/ask-human.ts";

describe("ask_human", () => {
  it("[A4] shows its question, and the schema of the answer where it has one", () => {
    const schema = { type: "object", properties: { day: { type: "string" } } };
    expect(askHuman.question?.({ question: "Which day?", schema })).toEqual({
      text: "Which day?",
      answerSchema: schema,
    });
    expect(askHuman.question?.({ question: "Which day?" })).toEqual({
      text: "Which day?",
      answerSchema: null,
    });
    expect([askHuman.approval, askHuman.effect]).toEqual(["question", "read"]);
  });

  it.each([{ type: "no such type" }, { $ref: "https://elsewhere.test/schema" }])(
    "[A4] [T3] a schema that cannot be read is the model's mistake: %j",
    (schema) => {
      const parsed = askHuman.parse({ question: "Which day?", schema });
      expect(parsed).toMatchObject({ ok: false, error: [{ path: "/schema" }] });
    },
  );
});

test("[A4] [T1] approval `question` and a question come together or not at all", () => {
  const base = {
    name: "poll",
    description: "Asks.",
    version: "1",
    input: z.object({}),
    effect: "read",
    execute: () => "x",
  } as const;
  expect(() => defineTool({ ...base, approval: "question" })).toThrow(/question is required/);
  const question = () => ({ text: "?", answerSchema: null });
  expect(() => defineTool({ ...base, approval: "always", question })).toThrow(
    /question is required/,
  );
  expect(defineTool({ ...base, approval: "question", question }).question).toBe(question);
});
