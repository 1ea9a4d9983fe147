/** JsonSchemas over zod's reader of JSON Schema. Validators are kept by the schema's identity. */
import { z } from "zod";
import type { JsonSchemas } from "#ports/json-schema.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import { toJsonPointer } from "#shared/json-pointer.ts";

export class ZodJsonSchemas implements JsonSchemas {
  readonly #known = new WeakMap<JsonObject, z.ZodType>();

  check(schema: JsonObject, value: Json): readonly string[] {
    try {
      const parsed = this.#validator(schema).safeParse(value);
      return parsed.success
        ? []
        : parsed.error.issues.map((issue) => `${toPointer(issue.path)}: ${issue.message}`);
    } catch (error) {
      return [
        `the schema cannot be read: ${error instanceof Error ? error.message : "unknown reason"}`,
      ];
    }
  }

  #validator(schema: JsonObject): z.ZodType {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    const created = z.fromJSONSchema(schema);
    this.#known.set(schema, created);
    return created;
  }
}

/** With the root shown as `/`. */
function toPointer(path: readonly PropertyKey[]): string {
  return toJsonPointer(path) || "/";
}
