/**
 * The Berkeley Function Calling Leaderboard's cases as tools and calls: its dialect of types to JSON Schema, gold values to
 * arguments, and the same calls made wrong. The data lies beside the project and is never copied into it.
 */
import { existsSync, readFileSync } from "node:fs";
import { defineToolFromJsonSchema } from "#authoring/define-tool.ts";
import type { Tool } from "#ports/tool.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";

export interface BfclFunction {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}
export interface BfclCase {
  readonly id: string;
  readonly category: string;
  readonly functions: readonly BfclFunction[];
  readonly gold: readonly JsonObject[];
}
export interface BfclCall {
  readonly name: string;
  readonly args: JsonObject;
}

const DATA = `${import.meta.dirname}/../../../shared/data/bfcl-dev.jsonl`;

/** Null where the data is not there. */
export function readBfcl(): readonly BfclCase[] | null {
  const path = process.env["HOLDFAST_BFCL"] ?? DATA;
  if (!existsSync(path)) return null;
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as BfclCase);
}

const TYPES: Readonly<Record<string, string>> = {
  dict: "object",
  float: "number",
  tuple: "array",
  String: "string",
  Boolean: "boolean",
};

/** `any` and an empty type say nothing; an object takes what it lists and nothing else. */
export function toJsonSchema(schema: JsonObject): JsonObject {
  const { type, properties, items, required, optional: _optional, ...rest } = schema;
  const named = typeof type === "string" ? (TYPES[type] ?? type) : "";
  const isOpen = named === "" || named === "any";
  return {
    ...rest,
    ...(isOpen ? {} : { type: named }),
    ...(isJsonObject(properties) && named === "object"
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, value]) => [
              key,
              isJsonObject(value) ? toJsonSchema(value) : {},
            ]),
          ),
          additionalProperties: false,
          ...(Array.isArray(required) ? { required } : {}),
        }
      : {}),
    ...(isJsonObject(items) && named === "array" ? { items: toJsonSchema(items) } : {}),
  };
}

/** Dots are no part of a function's name for any provider. */
export function toToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
}

export function toTools(test: BfclCase, executed: BfclCall[]): readonly Tool[] {
  const tools = new Map<string, Tool>();
  for (const { name, description, parameters } of test.functions) {
    const tool = toToolName(name);
    if (tools.has(tool)) continue;
    tools.set(
      tool,
      defineToolFromJsonSchema({
        name: tool,
        description,
        version: "1",
        inputSchema: toInputSchema(test, name, parameters),
        effect: "once",
        execute: (args) => {
          executed.push({ name: tool, args });
          return "done";
        },
      }),
    );
  }
  return [...tools.values()];
}

/**
 * As the leaderboard reads its own cases: parameters of JavaScript functions are texts of source code, and where a gold
 * value is not of the documented type (a variable's name for a list) the gold value's type counts.
 */
function toInputSchema(test: BfclCase, name: string, parameters: JsonObject): JsonObject {
  const schema = toJsonSchema(parameters);
  const properties = Object.entries(propertiesOf(schema)).map(([key, property]): [string, Json] => {
    if (test.category === "simple_javascript") return [key, { type: "string" }];
    const values = test.gold.map((call) => membersOf(call[name] ?? null)[key]);
    const isVariable = values.some((accepted) => {
      const { value, isOptional } = preferred(accepted ?? null);
      return value !== undefined && !isOptional && !fits(property, value);
    });
    return [key, isVariable ? {} : property];
  });
  return { ...schema, type: "object", properties: Object.fromEntries(properties) };
}

export function goldCalls(test: BfclCase): readonly BfclCall[] {
  return test.gold.flatMap((call) =>
    Object.entries(call).map(([name, accepted]) => {
      const { parameters = {} } = test.functions.find((known) => known.name === name) ?? {};
      const properties = propertiesOf(toJsonSchema(parameters));
      const args = Object.entries(membersOf(accepted)).flatMap(([key, values]) => {
        const { value, isOptional } = preferred(values);
        if (value === undefined) return [];
        if (test.category === "simple_javascript")
          return [[key, typeof value === "string" ? value : JSON.stringify(value)] as const];
        return isOptional && !fits(properties[key] ?? false, value) ? [] : [[key, value] as const];
      });
      return { name: toToolName(name), args: Object.fromEntries(args) };
    }),
  );
}

function membersOf(value: Json): JsonObject {
  return isJsonObject(value) ? value : {};
}
function propertiesOf(schema: JsonObject): JsonObject {
  return membersOf(schema["properties"] ?? null);
}

/** The first accepted value that says something; an empty text among them says that the argument may be left out. */
function preferred(accepted: Json): {
  readonly value: Json | undefined;
  readonly isOptional: boolean;
} {
  if (!Array.isArray(accepted)) return { value: goldValue(accepted), isOptional: false };
  const value = accepted.find((item: Json) => item !== "");
  return {
    value: value === undefined ? undefined : goldValue(value),
    isOptional: accepted.includes(""),
  };
}

function fits(schema: Json, value: Json): boolean {
  if (!isJsonObject(schema)) return false;
  const { type, items } = schema;
  if (type === "array")
    return Array.isArray(value) && value.every((item: Json) => fits(items ?? {}, item));
  if (type === "object") return isJsonObject(value);
  if (type === "integer") return Number.isInteger(value);
  return type === undefined || typeof value === type;
}

/** Each member lists the values that count as right; an empty text among them says that it may be left out. */
function goldObject(accepted: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(accepted).flatMap(([key, values]): readonly (readonly [string, Json])[] => {
      if (!Array.isArray(values)) return [[key, goldValue(values)]];
      const value = values.find((item: Json) => item !== "");
      return value === undefined ? [] : [[key, goldValue(value)]];
    }),
  );
}

function goldValue(value: Json): Json {
  if (isJsonObject(value)) return goldObject(value);
  return Array.isArray(value) ? value.map((item: Json) => goldValue(item)) : value;
}

export interface WrongCall {
  readonly kind: string;
  readonly name: string;
  readonly argsText: string;
}

/** The call with one thing wrong, for each kind of wrong that its schema knows. */
export function wrongCalls({ name, args }: BfclCall, schema: JsonObject): readonly WrongCall[] {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required: readonly Json[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const wrong = (kind: string, value: Json): WrongCall => ({
    kind,
    name,
    argsText: JSON.stringify(value),
  });
  const calls = [
    wrong("unknown parameter", { ...args, zz_unknown: 1 }),
    wrong("extra nesting", { arguments: args }),
    wrong("extra nesting as text", { arguments: JSON.stringify(args) }),
    wrong("a list of calls", [args]),
    { kind: "unknown function", name: `${name.slice(0, 60)}_zz`, argsText: JSON.stringify(args) },
    { kind: "truncated", name, argsText: JSON.stringify(args).slice(0, -1) },
    { kind: "trailing text", name, argsText: `${JSON.stringify(args)} done` },
  ];
  const missing = required.find((key) => typeof key === "string" && Object.hasOwn(args, key));
  if (typeof missing === "string") {
    const { [missing]: _gone, ...rest } = args;
    calls.push(wrong("missing required", rest));
  }
  for (const [key, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue;
    for (const value of wrongValues(property))
      calls.push(wrong(`wrong type of ${String(property["type"])}`, { ...args, [key]: value }));
    if (Array.isArray(property["enum"]))
      calls.push(wrong("out of enum", { ...args, [key]: "zz_none" }));
  }
  return calls;
}

/** None of them is a canonical spelling of what is wanted, so none may be taken for it. */
function wrongValues({ type }: JsonObject): readonly Json[] {
  switch (type) {
    case "string":
      return [12, true, ["a"], { a: 1 }, null];
    case "integer":
      return ["many", "1.5", "1e3", " 1", "0x1", 1.5, true, [1], null];
    case "number":
      return ["many", "1.50", "NaN", true, [1], null];
    case "boolean":
      return ["yes", "True", 1, null];
    case "array":
      return ["a,b", '{"a":1}', { a: 1 }, 1, null];
    case "object":
      return ["a", "[1]", [1], 1, null];
    default:
      return [];
  }
}
