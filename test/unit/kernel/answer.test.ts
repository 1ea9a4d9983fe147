import { describe, expect, test } from "vitest";
import { type ContentPart, type RawAnswer, readAnswer } from "#kernel/answer.ts";
import type { AnswerPart } from "#kernel/events.ts";
import { endsEarly } from "#kernel/json-scan.ts";
import { suggestNames } from "#kernel/suggest-names.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { MANIFEST, NO_USAGE, toolPin } from "#test/support/kernel-fixture.ts";

type Call = Extract<AnswerPart, { type: "call" }>;
const call = (name: string, argsText = "{}", providerCallId = ""): ContentPart => ({
  type: "call",
  name,
  argsText,
  providerCallId,
});

function read(parts: readonly ContentPart[], change: Partial<RawAnswer> = {}) {
  const parsed: Json[] = [];
  const answer = readAnswer({
    parts,
    finish: "tool_calls",
    usage: NO_USAGE,
    settings: MANIFEST.settings,
    manifest: MANIFEST,
    mintedCallIds: ["c1", "c2", "c3"],
    parse: (_name, args) => {
      parsed.push(args);
      return ok(args as JsonObject);
    },
    ...change,
  });
  const calls = answer.parts.filter((part): part is Call => part.type === "call");
  return { ...answer, calls, codes: calls.map(({ refusal }) => refusal?.code ?? null), parsed };
}

describe("arguments", () => {
  test("[T2] are parsed once, and what is recorded is what the schema gave back", () => {
    const { calls, parsed } = read([call("put", '{"a":1}')], {
      parse: () => ok({ a: 1, b: "default" }),
    });
    expect(calls[0]?.args).toEqual({ a: 1, b: "default" });
    expect(parsed).toEqual([]);
    expect(read([call("put", '{"a":1}')]).parsed).toEqual([{ a: 1 }]);
  });

  test.each(["", "  ", "null", "{}"])("[T12] that are %j are no arguments", (text) => {
    expect(read([call("put", text)]).calls[0]).toMatchObject({ args: {}, refusal: null });
  });

  test.each(["[1]", '"x"', "5", "true", "{bad}", "{'a':1}", '{"a":1} trailing'])(
    "[T3] that are %j are refused",
    (text) => {
      const { calls, parsed } = read([call("put", text)]);
      expect(calls[0]).toMatchObject({ args: null, refusal: { code: "tool_args_invalid" } });
      expect(parsed).toEqual([]);
    },
  );

  test("[T11] encoded twice reach the schema as the values they spell", () => {
    const tool = {
      ...toolPin("put", "once"),
      inputSchema: { type: "object", properties: { n: { type: "integer" } } },
    };
    const { calls, parsed } = read([call("put", JSON.stringify('{"n":"20","s":"[1]"}'))], {
      manifest: { ...MANIFEST, tools: [tool] },
    });
    expect(parsed).toEqual([{ n: 20, s: "[1]" }]);
    expect(calls[0]).toMatchObject({ args: { n: 20, s: "[1]" }, refusal: null });
  });

  test("[T12] that nest too deep are refused before anything goes down into them", () => {
    const { calls, parsed } = read([
      call("put", `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`),
    ]);
    expect(calls[0]).toMatchObject({ args: null, refusal: { code: "tool_args_invalid" } });
    expect(parsed).toEqual([]);
  });

  test("[T3] that do not fit are refused with a JSON Pointer and what was expected", () => {
    const parse = () => err([{ path: "/limit", message: "expected a number, got a string" }]);
    const { calls } = read([call("put", '{"limit":"20"}')], { parse });
    expect(calls[0]?.refusal?.message).toContain('"/limit": expected a number, got a string');
  });

  test("[T2] named __proto__ stay data", () => {
    const { calls } = read([call("put", '{"__proto__":{"admin":true}}')]);
    expect(Object.keys(calls[0]?.args ?? {})).toEqual(["__proto__"]);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });
});

describe("an answer that was cut off", () => {
  const HALF = '{"path":"a.txt","content":"line one\\nli';

  test.each([
    ["honest", "length", 64],
    ["relabelled", "tool_calls", 64],
    ["relabelled without usage", "tool_calls", null],
  ] as const)("[K20] inside a call (%s) refuses that call", (_title, finish, outputTokens) => {
    const { codes, parsed } = read([call("put", HALF)], {
      finish,
      settings: { maxOutputTokens: 64, temperature: null },
      usage: { ...NO_USAGE, outputTokens },
    });
    expect(codes).toEqual(["tool_args_truncated"]);
    expect(parsed).toEqual([]);
  });

  test("[K20] refuses its last call even when that parses, and runs those before", () => {
    const { codes } = read([call("put", '{"path":"b.txt"}'), call("put", '{"path":"a.txt"}')], {
      finish: "length",
    });
    expect(codes).toEqual([null, "tool_args_truncated"]);
  });

  test("[K20] after its calls, in text, refuses none", () => {
    expect(
      read([call("put"), { type: "text", text: "and th" }], { finish: "length" }).codes,
    ).toEqual([null]);
  });

  test("[K23] by a filter runs nothing", () => {
    expect(read([call("look"), call("put")], { finish: "content_filter" }).codes).toEqual([
      "tool_args_truncated",
      "tool_args_truncated",
    ]);
  });

  test.each([
    ['{"a":"b', true],
    ['{"a":"}"', true],
    ['{"a":"\\"', true],
    ['{"a":1}', false],
    ["{bad}", false],
    ["nonsense", false],
  ])("[K20] tells %j apart from text that is wrong", (text, expected) => {
    expect(endsEarly(text)).toBe(expected);
  });
});

describe("calls", () => {
  test("[K22] that share an id are all refused, and every call has its own id of ours", () => {
    const { codes, calls } = read([
      call("pay", "{}", "x1"),
      call("look", "{}", "x2"),
      call("pay", "{}", "x1"),
    ]);
    expect(codes).toEqual(["duplicate_call_id", null, "duplicate_call_id"]);
    expect(calls.map(({ callId }) => callId)).toEqual(["c1", "c2", "c3"]);
  });

  test("[K22] without an id are fine", () => {
    expect(read([call("look"), call("look")]).codes).toEqual([null, null]);
  });

  test("[K21] of an unknown tool get suggestions from the agent's own tools only, and run nothing", () => {
    const { calls, parsed } = read([call("loook"), call("put")]);
    expect(calls[0]?.refusal).toEqual({
      code: "unknown_tool",
      message: 'there is no tool "loook"; did you mean: look, book?',
    });
    expect(parsed).toHaveLength(1);
  });

  test("[K21] get at most five suggestions, the nearest first", () => {
    const names = Array.from({ length: 9 }, (_, i) => `tool_${i}`);
    expect(suggestNames("tool_3", names)).toEqual([
      "tool_3",
      "tool_0",
      "tool_1",
      "tool_2",
      "tool_4",
    ]);
    expect(suggestNames("something_else_entirely", names)).toEqual([]);
  });

  test("[K21] with a hostile name get a short, escaped answer", () => {
    const { calls } = read([call(`${"x".repeat(10_000)}\n"`)], {
      manifest: { ...MANIFEST, tools: [toolPin("look", "read")] },
    });
    expect(calls[0]?.refusal?.message.length).toBeLessThan(200);
  });
});

describe("a call written as text", () => {
  const WRITTEN: ContentPart = { type: "text", text: '{"name":"pay","arguments":{}}' };
  test("[K25] is named where the answer ends with it, and makes no call", () => {
    expect(read([WRITTEN], { finish: "stop" })).toMatchObject({ textCall: "pay", calls: [] });
    expect(read([WRITTEN, call("look")]).textCall).toBeNull();
    expect(read([WRITTEN], { finish: "length" }).textCall).toBeNull();
  });
});

describe("what providers disagree on", () => {
  test("[K24] a signature over text that storing changes is dropped with nothing but itself", () => {
    const meta = { signature: "s" };
    const { parts } = read([
      { type: "reasoning", text: "half \uD83D", meta },
      { type: "reasoning", text: "whole", meta },
      call("look"),
    ]);
    expect(parts.slice(0, 2)).toEqual([
      { type: "reasoning", text: "half \uD83D", meta: null },
      { type: "reasoning", text: "whole", meta },
    ]);
  });

  test("[K4] a finish that contradicts the parts follows the parts", () => {
    expect(read([call("look")], { finish: "stop" }).finish).toBe("tool_calls");
    expect(read([{ type: "text", text: "hi" }], { finish: "tool_calls" }).finish).toBe("stop");
    expect(read([{ type: "text", text: "hi" }], { finish: "length" }).finish).toBe("length");
  });

  test("[K9] deltas are joined to whole parts; signed reasoning stays apart", () => {
    const { parts } = read([
      { type: "reasoning", text: "a", meta: null },
      { type: "reasoning", text: "b", meta: { signature: "1" } },
      { type: "reasoning", text: "c", meta: { signature: "2" } },
      { type: "text", text: "he" },
      { type: "text", text: "llo" },
    ]);
    expect(parts).toEqual([
      { type: "reasoning", text: "ab", meta: { signature: "1" } },
      { type: "reasoning", text: "c", meta: { signature: "2" } },
      { type: "text", text: "hello" },
    ]);
  });
});
