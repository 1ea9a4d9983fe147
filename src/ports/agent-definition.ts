/** AgentDefinition: an agent as code has it now. Runs are pinned to the manifest; the tools are what executes it. */
import type { AgentManifest } from "#kernel/manifest.ts";
import type { AgentExports } from "./agent-exports.ts";
import type { OutputSpec } from "./model.ts";
import type { ScheduleRequest } from "./schedule-stub.ts";
import type { Tool } from "./tool.ts";

export interface AgentDefinition {
  readonly manifest: AgentManifest;
  /** By name; exactly the tools that the manifest pins. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Of messages that bring none (P118). Not part of what a run is pinned to: each message records its own. Absent: text. */
  readonly output?: OutputSpec;
  /** How much history its threads keep. Not part of what a run is pinned to. Absent: all. */
  readonly retention?: Retention;
  /** What its threads named `main` do by themselves. Not part of what a run is pinned to. Absent: nothing. */
  readonly schedules?: readonly ScheduleRequest[];
  /** What it shows over MCP besides its conversation. Absent: nothing. */
  readonly exports?: AgentExports;
}

/** History beyond either may be pruned (H40). */
export interface Retention {
  readonly maxAgeMs: number | null;
  readonly maxEvents: number | null;
}
