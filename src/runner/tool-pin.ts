/** Whether a registered tool is still the one a run is pinned to (T9): its version, effect and argument schema. */
import type { ToolPin } from "#kernel/manifest.ts";
import type { Tool } from "#ports/tool.ts";
import { canonicalJson, type JsonObject } from "#shared/json.ts";

export function isPinned(pin: ToolPin, tool: Tool): boolean {
  return (
    tool.version === pin.version &&
    tool.effect === pin.effect &&
    canonical(tool.inputSchema) === canonical(pin.inputSchema)
  );
}

const canonicalForms = new WeakMap<object, string>();

/** Schemas are compared at each call, and canonicalised once. */
function canonical(schema: JsonObject): string {
  const known = canonicalForms.get(schema);
  if (known !== undefined) return known;
  const form = canonicalJson(schema);
  canonicalForms.set(schema, form);
  return form;
}
