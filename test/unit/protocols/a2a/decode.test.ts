/** What a message means to a task that waits, and what of it is a file. */
import { describe, expect, it } from "vitest";
import type { Json } from "#shared/json.ts";
import { planAnswer, toText, toUploads, type Waiting } from "#protocols/a2a/decode.ts";
import { fromProtoJson, SendRequest } from "#protocols/a2a/wire.ts";

const message = (...parts: readonly Json[]) =>
  SendRequest.parse(fromProtoJson({ message: { message_id: "m/1", role: "ROLE_USER", parts } }))
    .message;
const approval = (approvalId: string): Waiting => ({
  approvalId,
  kind: "tool",
  answerSchema: null,
});
const question = (answerSchema: Waiting["answerSchema"] = null): Waiting => ({
  approvalId: "q",
  kind: "question",
  answerSchema,
});
const plan = (waiting: readonly Waiting[], ...parts: readonly Json[]) => {
  const planned = planAnswer(message(...parts), waiting);
  return planned.ok ? planned.value : planned.error.message;
};
const decided = (decision: string, answer: Json = null) => ({
  type: "decide",
  given: [{ approvalId: expect.any(String), decision, answer, comment: null }],
});

describe("[P93] a message on a task that waits", () => {
  it.each(["yes", " Yes. ", "approve", "APPROVED!"])("%j is a yes to one approval", (text) =>
    expect(plan([approval("a")], { text })).toEqual(decided("approve")),
  );
  it.each(["no", "denied", "Reject."])("%j is a no", (text) =>
    expect(plan([approval("a")], { text })).toEqual(decided("deny")),
  );
  it.each(["yes, but only half", "ok", "maybe", "yesterday", "not yes"])(
    "%j is no clear yes: it is said to the agent",
    (text) => expect(plan([approval("a")], { text })).toEqual({ type: "say", text }),
  );
  it("data says it too", () => {
    expect(plan([approval("a")], { data: true })).toEqual(decided("approve"));
    expect(plan([approval("a")], { data: { approved: false } })).toEqual(decided("deny"));
    expect(plan([approval("a")], { data: { approved: "yes" } })).toMatchObject({ type: "say" });
  });
  it("a yes to several is refused, other words are said to the agent, and names decide each", () => {
    const both = [approval("a"), approval("b")];
    expect(plan(both, { text: "yes" })).toContain("several things wait");
    expect(plan(both, { text: "wait" })).toEqual({ type: "say", text: "wait" });
    const decisions = [
      { id: "a", decision: "approve" },
      { id: "b", decision: "deny", comment: "too much", answer: "ignored" },
    ];
    expect(plan(both, { data: { decisions } })).toEqual({
      type: "decide",
      given: [
        { approvalId: "a", decision: "approve", answer: null, comment: null },
        { approvalId: "b", decision: "deny", answer: null, comment: "too much" },
      ],
    });
    expect(plan(both, { data: { decisions: [{ id: "a" }] } })).toContain("decision");
  });
  it("words answer a question, and JSON one with a schema", () => {
    expect(plan([question()], { text: "yes" })).toEqual(decided("answer", "yes"));
    const schema = { type: "object" };
    expect(plan([question(schema)], { text: '{"a":1}' })).toEqual(decided("answer", { a: 1 }));
    expect(plan([question(schema)], { text: "a" })).toEqual(decided("answer", "a"));
    expect(plan([question(schema)], { data: [1] })).toEqual(decided("answer", [1]));
  });
});

describe("[P90] parts", () => {
  it("are said in their order; files by where they lie, under names that lead nowhere", () => {
    const sent = message(
      { text: "look" },
      { data: { snake_case: 1 } },
      { raw: "aGk=", filename: "../../a b.txt", media_type: "text/plain" },
      { raw: "_-8", filename: ".." },
    );
    expect(toText(sent)).toMatchObject({
      value:
        'look\n\n{"snake_case":1}\n\n(file: uploads/m_1/2-a_b.txt)\n\n(file: uploads/m_1/3-file)',
    });
    expect(toUploads(sent)).toEqual({
      ok: true,
      value: [
        { path: "uploads/m_1/2-a_b.txt", content: new TextEncoder().encode("hi") },
        { path: "uploads/m_1/3-file", content: new Uint8Array([255, 239]) },
      ],
    });
  });
  it.each([
    [[{ url: "https://example.com/a" }], "media type"],
    [[{ text: "  " }], "nothing is said"],
  ])("%j is refused", (parts, words) => {
    expect(toText(message(...parts))).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining(words) },
    });
  });
  it("what is no base64 is refused, naming the part", () => {
    expect(toUploads(message({ raw: "?" }))).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("message.parts.0.raw") },
    });
  });
});
