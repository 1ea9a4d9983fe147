/**
 * State of one thread, folded from its log. Plain readonly data: it is dumped to a snapshot as it is.
 *
 * Bounded by design: finished runs leave only their counters, and the window holds references, not texts, of at most
 * the prompt's size. So a step costs the same at any length of history (K13).
 */
import type { Json } from "#shared/json.ts";
import type { OutputSpec } from "#ports/model.ts";
import type { PlanItem, ToolEffect } from "#ports/tool.ts";
import type { PromptRef, Refusal, RunFinish } from "./events.ts";
import type { AgentManifest } from "./manifest.ts";

export interface ThreadState {
  readonly owner: string | null;
  readonly title: string | null;
  readonly shared: Json;
  /** The run that is live, or null. Never two (K3). */
  readonly run: RunState | null;
  /** Inputs whose run has not begun, oldest first. */
  readonly queue: readonly QueuedInput[];
  readonly window: readonly WindowEntry[];
  /** Where the newest request's refs are recorded, for the next one to build on. */
  readonly lastRequest: { readonly seq: number; readonly refs: readonly PromptRef[]; readonly sinceFull: number } | null;
  readonly plan: readonly PlanItem[];
  /** Newest pinned manifest: its hash, and the seq of its `definition.pinned`. */
  readonly pins: readonly { readonly definition: string; readonly seq: number }[];
  readonly manifest: AgentManifest | null;
  /** Calls closed by cancellation while their attempt still ran, so that a late result finds its run. */
  readonly abandoned: readonly { readonly callId: string; readonly intentId: string; readonly runId: string; readonly step: number }[];
}

export interface QueuedInput {
  readonly seq: number;
  readonly messageId: string;
  readonly runId: string;
  readonly output: OutputSpec | null;
  readonly definition: string;
  readonly tokens: number;
}

/** One prompt-bearing thing in prompt order. A call and its result share a `unit` and are never parted (K8). */
export interface WindowEntry {
  readonly ref: PromptRef;
  readonly kind: "user" | "assistant" | "result" | "context";
  /** Estimated tokens of the part as cut. */
  readonly tokens: number;
  /** Entries of one unit are kept or trimmed together; the unit's id is the seq of its first event. */
  readonly unit: number;
}

export type RunPhase =
  /** Waits for its next model call. */
  | { readonly type: "ready" }
  | { readonly type: "model_open"; readonly intent: OpenModel }
  | { readonly type: "backoff"; readonly retryAt: number }
  /** Some calls of the step have no result yet. */
  | { readonly type: "tools"; readonly calls: readonly CallState[] }
  /** An answer is in and wants a verdict: finish, repair, retry. */
  | { readonly type: "answered"; readonly answer: AnswerSummary };

export interface OpenModel {
  readonly intentId: string;
  readonly seq: number;
  readonly epoch: number;
  readonly attempt: number;
  readonly reservedTokens: number;
  readonly reservedMicros: number;
  readonly inputTokens: number;
}
export interface AnswerSummary {
  readonly seq: number;
  readonly finish: string;
  readonly hasText: boolean;
  readonly calls: number;
  readonly refusedUnknown: boolean;
  readonly truncatedCall: boolean;
  /** Null when no schema was asked for or the answer was not final. */
  readonly output: { readonly ok: boolean; readonly issues: readonly string[] } | null;
}
export interface CallState {
  readonly callId: string;
  readonly index: number;
  readonly name: string;
  readonly argsPart: number;
  readonly answerSeq: number;
  readonly refusal: Refusal | null;
  readonly status: "pending" | "open" | "interrupted" | "closed";
  readonly next: "execute" | "check";
  readonly attempts: number;
  readonly intent: { readonly intentId: string; readonly seq: number; readonly epoch: number; readonly effect: ToolEffect; readonly idempotencyKey: string } | null;
  /** Idempotency key of the first attempt, kept for all later ones. */
  readonly key: string | null;
  /** Seq of the event that holds the result, once closed. */
  readonly resultSeq: number | null;
  readonly resultTokens: number;
}

export interface RunState {
  readonly runId: string;
  readonly definition: string;
  readonly startedSeq: number;
  readonly step: number;
  readonly phase: RunPhase;
  readonly output: OutputSpec | null;
  readonly steering: readonly QueuedInput[];
  readonly cancel: { readonly reason: string; readonly actor: string | null } | null;
  /** Failed or interrupted attempts of the current model step. */
  readonly attempts: number;
  /** Interrupted attempts in a row without a finished effect between: bounds recovery (K15). */
  readonly recoveries: number;
  readonly repairs: number;
  readonly emptyRetries: number;
  readonly truncatedRetries: number;
  readonly unknownToolSteps: number;
  readonly callsPerTool: { readonly [tool: string]: number };
  readonly costMicros: number;
  readonly tokens: number;
  readonly lastText: { readonly seq: number; readonly part: number } | null;
  readonly finish: RunFinish | null;
}
