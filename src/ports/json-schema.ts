/** JsonSchemas: whether a value fits a JSON Schema that came as data (the schema of a structured answer). */
import type { Json, JsonObject } from "#shared/json.ts";

export interface JsonSchemas {
  /** What does not fit, each with a JSON Pointer; empty when it fits. A schema that cannot be read is one issue. */
  check(schema: JsonObject, value: Json): readonly string[];
}
