import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { coerceArguments } from "#kernel/coerce-arguments.ts";
import type { Json, JsonObject } from "#shared/json.ts";

const one = (schema: JsonObject): JsonObject => ({ type: "object", properties: { v: schema } });
const coerced = (schema: JsonObject, value: Json): Json =>
  (coerceArguments(one(schema), { v: value }) as JsonObject)["v"] ?? null;

describe("what a model encoded twice", () => {
  test("[T11] as a whole is one object again, once", () => {
    expect(coerceArguments({ type: "object" }, '{"a":"{}"}')).toEqual({ a: "{}" });
    expect(coerceArguments({ type: "object" }, '"{}"')).toBe('"{}"');
    expect(coerceArguments({ type: "object" }, "[1]")).toBe("[1]");
  });

  test.each<[JsonObject, string, Json]>([
    [{ type: "array", items: { type: "string" } }, '["a","b"]', ["a", "b"]],
    [{ type: "object" }, '{"a":1}', { a: 1 }],
    [{ type: "integer" }, "20", 20],
    [{ type: "integer" }, "-3", -3],
    [{ type: "number" }, "2.5", 2.5],
    [{ type: "boolean" }, "true", true],
    [{ type: ["integer", "null"] }, "null", null],
    [{ type: "integer", nullable: true }, "null", null],
    [{ anyOf: [{ type: "integer" }, { type: "array" }] }, "[1]", [1]],
    [{ enum: [1, 2] }, "2", 2],
    [{ const: true }, "true", true],
    [{ type: "array", items: { type: "integer" } }, '["1"]', [1]],
    [{ allOf: [{ type: "integer" }] }, "4", 4],
  ])("[T11] for %j, %j is decoded", (schema, text, value) => {
    expect(coerced(schema, text)).toEqual(value);
  });

  test.each<[JsonObject, string]>([
    [{ type: "string" }, "[1,2]"],
    [{ type: ["string", "array"] }, "[1,2]"],
    [{ anyOf: [{ type: "string" }, { type: "integer" }] }, "7"],
    [{ enum: ["1", "2"] }, "1"],
    [{}, "7"],
    [{ anyOf: [{}, { type: "integer" }] }, "7"],
    [{ type: "integer" }, "2.5"],
    [{ type: "integer" }, "2.0"],
    [{ type: "integer" }, " 2"],
    [{ type: "integer" }, "1e3"],
    [{ type: "integer" }, "0x10"],
    [{ type: "integer" }, "007"],
    [{ type: "integer" }, "9007199254740993"],
    [{ type: "number" }, "1e999"],
    [{ type: "number" }, "NaN"],
    [{ type: "number" }, ""],
    [{ type: "boolean" }, "True"],
    [{ type: "boolean" }, "1"],
    [{ type: "boolean" }, "yes"],
    [{ type: "array" }, '{"a":1}'],
    [{ type: "array" }, "a,b"],
    [{ type: "object" }, "[1]"],
    [{ type: "array" }, '"[1]"'],
    [{ type: "integer" }, '"1"'],
    [{ type: "object" }, `${'{"a":'.repeat(70)}1${"}".repeat(70)}`],
  ])("[T11] for %j, %j stays the string it is", (schema, text) => {
    expect(coerced(schema, text)).toBe(text);
  });

  test("[T11] is found through references, items, prefixes and additional properties", () => {
    const schema: JsonObject = {
      type: "object",
      properties: {
        tree: { $ref: "#/$defs/node" },
        pair: { type: "array", prefixItems: [{ type: "string" }, { type: "boolean" }] },
      },
      additionalProperties: { type: "number" },
      $defs: {
        node: {
          type: "object",
          properties: {
            n: { type: "integer" },
            kids: { type: "array", items: { $ref: "#/$defs/node" } },
          },
        },
      },
    };
    expect(
      coerceArguments(schema, {
        tree: '{"n":"1","kids":[{"n":"2"}]}',
        pair: ["1", "true"],
        other: "4.5",
      }),
    ).toEqual({ tree: { n: 1, kids: [{ n: 2 }] }, pair: ["1", true], other: 4.5 });
  });

  test("[T11] between alternatives that could both take it nothing is guessed", () => {
    const object = (type: string): JsonObject => ({ type: "object", properties: { n: { type } } });
    expect(coerced({ anyOf: [object("string"), object("integer")] }, { n: "1" })).toEqual({
      n: "1",
    });
    expect(coerced({ anyOf: [object("integer"), { type: "null" }] }, { n: "1" })).toEqual({ n: 1 });
  });

  test("[T11] a schema that refers to itself for ever, or to nothing, changes nothing", () => {
    const loop: JsonObject = { ...one({ $ref: "#/$defs/a" }), $defs: { a: { $ref: "#/$defs/a" } } };
    expect(coerceArguments(loop, { v: "1" })).toEqual({ v: "1" });
    expect(coerced({ $ref: "#/$defs/none" }, "1")).toBe("1");
    expect(coerced({ $ref: "https://example.com/s" }, "1")).toBe("1");
  });

  test("[T11] a key named __proto__ stays a key", () => {
    const schema: JsonObject = { type: "object", additionalProperties: { type: "integer" } };
    const value = coerceArguments(schema, '{"__proto__":"1","a":"2"}');
    expect(Object.entries(value as JsonObject)).toEqual([
      ["__proto__", 1],
      ["a", 2],
    ]);
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  test("[T11] over any value and any schema it ends, and is done after one time", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), (schema, args) => {
        const any = { type: "object", properties: { v: schema as Json } };
        const value = args as Json;
        const first = coerceArguments(any, { v: value });
        if (typeof value !== "string") expect(coerceArguments(any, first)).toEqual(first);
      }),
    );
  });
});
