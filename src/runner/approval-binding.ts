/**
 * The binding of an approval (A2): what a person was shown, as one digest. It is made again from what would run now, and
 * anything that differs, such as a deployed tool, a schema or an argument, is not what was approved.
 */
import type { Hasher } from "#ports/hasher.ts";
import type { Tool } from "#ports/tool.ts";
import { canonicalJson, utf8, type JsonObject } from "#shared/json.ts";

export interface Bound {
  readonly tool: Pick<Tool, "name" | "version" | "inputSchema">;
  readonly args: JsonObject;
  /** Hash of the manifest that the run is pinned to. */
  readonly definition: string;
}

export function bindingOf({ tool, args, definition }: Bound, hasher: Hasher): string {
  const schema = hasher.sha256(utf8(canonicalJson(tool.inputSchema)));
  const bound = { tool: tool.name, version: tool.version, schema, args, definition };
  return hasher.sha256(utf8(canonicalJson(bound)));
}
