/**
 * Arguments of a tool: one zod schema gives the JSON Schema a model sees and the parse that every later reader trusts.
 *
 * T2 what `parse` answers is JSON, well-formed, and the only form of the arguments from there on, so a schema whose
 * output is not JSON (a transform, a date, a map) is refused at definition. T3 issues are JSON Pointers.
 */
import { z } from "zod";
import { isJsonObject, toWellFormedJson, type Json, type JsonObject } from "#shared/json.ts";
import { toJsonPointer } from "#shared/json-pointer.ts";
import { err, ok, type Result } from "#shared/result.ts";
import type { ArgumentIssue } from "#ports/tool.ts";

/** A wrong call needs a few hints, not a page that pushes the task out of the prompt. */
const MAX_ISSUES = 8;

export interface ArgumentSchema {
  readonly inputSchema: JsonObject;
  parse(args: Json): Result<JsonObject, readonly ArgumentIssue[]>;
}

/**
 * Unknown keys are refused unless the schema itself says what to do with them (`z.looseObject`, `.catchall`): a
 * misspelt optional argument that is dropped in silence runs another call than the one that was meant.
 */
export function fromZodObject(input: z.ZodObject): ArgumentSchema {
  const schema = input.def.catchall === undefined ? input.strict() : input;
  // The output side has no JSON Schema exactly when parsing could yield something that is not JSON.
  z.toJSONSchema(schema, { io: "output" });
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: "input" });
  return { inputSchema: toPlainObject(inputSchema), parse: (args) => parseWith(schema, args) };
}

/** Keeps the given schema as it is, for the model and the pin; zod only parses by it. */
export function fromJsonSchema(inputSchema: JsonObject): ArgumentSchema {
  if (inputSchema["type"] !== "object")
    throw new TypeError("the input schema must be of type object");
  const schema = z.fromJSONSchema(inputSchema);
  return { inputSchema, parse: (args) => parseWith(schema, args) };
}

function parseWith(schema: z.ZodType, args: Json): Result<JsonObject, readonly ArgumentIssue[]> {
  const parsed = schema.safeParse(toWellFormedJson(args));
  if (parsed.success) return ok(toPlainObject(parsed.data));
  return err(parsed.error.issues.flatMap((issue) => toArgumentIssues(issue)).slice(0, MAX_ISSUES));
}

function toPlainObject(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new TypeError("a tool's arguments are a JSON object");
  return value;
}

function toArgumentIssues(
  issue: z.core.$ZodIssue,
  parent: readonly PropertyKey[] = [],
): ArgumentIssue[] {
  const path = [...parent, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: toJsonPointer([...path, key]),
      message: "no such argument is expected",
    }));
  }
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const options = issue.errors.map((option) =>
      option.map((inner) => inner.message).join(" and "),
    );
    return [
      { path: toJsonPointer(path), message: `no alternative fits: ${options.join("; or ")}` },
    ];
  }
  return [{ path: toJsonPointer(path), message: issue.message }];
}
