/** Two manifests field by field, as JSON Pointers. Tools and schedules are compared by name, so that their order says nothing. */
import type { AgentManifest } from "#kernel/manifest.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { toJsonPointer } from "#shared/json-pointer.ts";

export interface FieldChange {
  readonly path: string;
  readonly change: "added" | "removed" | "changed";
  readonly before: Json;
  readonly after: Json;
}

export function diffManifests(from: AgentManifest, to: AgentManifest): readonly FieldChange[] {
  return diffObjects("", toFields(from), toFields(to));
}

function toFields(manifest: AgentManifest): JsonObject {
  const tools = Object.fromEntries(manifest.tools.map((tool) => [tool.name, tool]));
  const { schedules = [] } = manifest;
  const named = Object.fromEntries(schedules.map((schedule) => [schedule.scheduleId, schedule]));
  const fields = schedules.length === 0 ? { tools } : { tools, schedules: named };
  // A manifest is plain JSON by contract; interfaces merely lack the index signature.
  return { ...manifest, ...fields } as unknown as JsonObject;
}

function diffObjects(path: string, from: JsonObject, to: JsonObject): readonly FieldChange[] {
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].toSorted();
  return keys.flatMap((key) => {
    const at = `${path}${toJsonPointer([key])}`;
    const before = from[key] ?? null;
    const after = to[key] ?? null;
    if (!Object.hasOwn(from, key)) return [{ path: at, change: "added", before: null, after }];
    if (!Object.hasOwn(to, key)) return [{ path: at, change: "removed", before, after: null }];
    if (isJsonObject(before) && isJsonObject(after)) return diffObjects(at, before, after);
    const isSame = canonicalJson(before) === canonicalJson(after);
    return isSame ? [] : [{ path: at, change: "changed", before, after }];
  });
}
