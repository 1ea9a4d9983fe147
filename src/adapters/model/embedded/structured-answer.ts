/** An answer in the shape that a run asked for: texts get the answer, numbers the headline, the rest the least that fits. */
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import type { Answer } from "./answer.ts";

const MAX_DEPTH = 8;

export function toStructured(schema: JsonObject, answer: Answer, depth = 0): Json {
  if ("const" in schema) return schema["const"] ?? null;
  const options = schema["enum"];
  if (Array.isArray(options)) return options[0] ?? null;
  const [branch] = [schema["anyOf"], schema["oneOf"]].filter((list) => Array.isArray(list)).flat();
  if (isJsonObject(branch)) return toStructured(branch, answer, depth + 1);
  const declared = schema["type"];
  const type = Array.isArray(declared) ? declared[0] : declared;
  switch (type) {
    case "string":
      return answer.text;
    case "integer":
      return Math.round(answer.headline ?? 0);
    case "number":
      return answer.headline ?? 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "null":
      return null;
    default:
      return toObject(schema, answer, depth);
  }
}

function toObject(schema: JsonObject, answer: Answer, depth: number): Json {
  const properties = schema["properties"];
  if (!isJsonObject(properties) || depth >= MAX_DEPTH) return {};
  const entries = Object.entries(properties).map(([key, value]): [string, Json] => [
    key,
    isJsonObject(value) ? toStructured(value, answer, depth + 1) : null,
  ]);
  return Object.fromEntries(entries);
}
