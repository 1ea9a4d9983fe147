/**
 * Manifest: the data-only form of an agent that a run is pinned to. PERSISTED CONTRACT.
 *
 * Its SHA-256 over canonical JSON is the definition hash in every event header of the run.
 */
import type { JsonObject } from "#shared/json.ts";
import type { ModelSettings } from "#ports/model.ts";
import type { ToolApproval, ToolEffect, ToolLimits } from "#ports/tool.ts";

export interface ToolPin {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly inputSchema: JsonObject;
  readonly effect: ToolEffect;
  readonly approval: ToolApproval;
  readonly limits: ToolLimits;
}
export interface RunLimits {
  readonly maxSteps: number;
  /** Null: no cap. Integer micro-dollars. */
  readonly maxCostMicros: number | null;
  /** Input and output tokens together; null: no cap. */
  readonly maxTokens: number | null;
  readonly maxQueuedInputs: number;
  /** How long a run may work, waits for people left out (B57). Null or absent: no cap. */
  readonly maxWallMs?: number | null;
}
/** When the loop guard stops a run (B1); it warns at three fifths of each. */
export interface LoopLimits {
  /** Equal calls with equal results. A tool's own `maxRepeats` goes before it. */
  readonly maxRepeats: number;
  /** Rounds of a cycle of two or three calls. */
  readonly maxRounds: number;
  /** Calls in a row that bring nothing the run had not seen. */
  readonly maxStale: number;
}
export interface RetryPolicy {
  /** Attempts of one model step, the first included. */
  readonly maxAttempts: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
}
/** What an agent does by itself. Only where the manifest is all there is of the agent; a file's are beside it. */
export interface PinnedSchedule {
  readonly scheduleId: string;
  readonly rule:
    | { readonly type: "every"; readonly seconds: number }
    | { readonly type: "cron"; readonly expression: string; readonly timeZone: string };
  readonly text: string;
  readonly overlap: "skip" | "queue";
}
export interface AgentManifest {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly route: string;
  /** Routes to go on with, in order, when one fails for good (K26). Absent: none. */
  readonly fallbacks?: readonly string[];
  readonly settings: ModelSettings;
  /** Prompt budget in estimated tokens; the compiler trims to it. */
  readonly contextTokens: number;
  readonly limits: RunLimits;
  readonly retry: RetryPolicy;
  readonly tools: readonly ToolPin[];
  /** Absent, or absent in it: the defaults. */
  readonly loop?: Partial<LoopLimits>;
  /** Over A2A, an answer in words alone to a call that waits for it is a message. Absent: a task, as every other. */
  readonly replies?: "message";
  /** In the order of their ids. Absent: none, or the file says. */
  readonly schedules?: readonly PinnedSchedule[];
  /** Re-asks of a structured answer that does not fit its schema. */
  readonly maxRepairs: number;
}
