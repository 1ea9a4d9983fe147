/** AgentDefinition: an agent as code has it now. Runs are pinned to the manifest; the tools are what executes it. */
import type { AgentManifest } from "#kernel/manifest.ts";
import type { Tool } from "./tool.ts";

export interface AgentDefinition {
  readonly manifest: AgentManifest;
  /** By name; exactly the tools that the manifest pins. */
  readonly tools: ReadonlyMap<string, Tool>;
}
