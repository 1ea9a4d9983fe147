/**
 * What an agent or tool gets when its file does not say. Each is chosen so that a forgotten line is safe, not fast:
 * a loop ends, a bill has a ceiling, a prompt stays below the window of small models.
 */
import type { RetryPolicy, RunLimits } from "#kernel/manifest.ts";
import type { ModelSettings } from "#ports/model.ts";
import type { ToolLimits } from "#ports/tool.ts";

/** Route that the deployment's configuration resolves; the embedded model when it configures none. */
export const DEFAULT_MODEL_ROUTE = "default";

export const DEFAULT_TOOL_LIMITS: ToolLimits = {
  timeoutMs: 30_000,
  /** About 5,000 tokens: a result never crowds out the conversation. */
  maxResultBytes: 16 * 1024,
  maxCallsPerRun: 100,
};

export const DEFAULT_SETTINGS: ModelSettings = { maxOutputTokens: 4_096, temperature: null };

export const DEFAULT_RUN_LIMITS: RunLimits = {
  maxSteps: 50,
  /** One US dollar a run. Raise it where work is worth more; null removes the ceiling. */
  maxCostMicros: 1_000_000,
  /** Holds where a route has no price. */
  maxTokens: 2_000_000,
  maxQueuedInputs: 100,
};

export const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 4, baseDelayMs: 500, maxDelayMs: 30_000 };

export const DEFAULT_CONTEXT_TOKENS = 32_000;
export const DEFAULT_MAX_REPAIRS = 2;
/** One call alone is no repeat. */
export const MIN_LOOP_LIMIT = 2;
