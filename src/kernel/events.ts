/**
 * Every event a thread's log may hold. PERSISTED CONTRACT: changing a shape needs a new version, an upcaster in
 * event-upcast.ts, a golden log and a changelog line.
 *
 * An effect has one intent (`*.requested`, `*.started`) and exactly one outcome (`*.answered`, `*.failed`,
 * `*.finished`, `*.interrupted`); the outcome's header `cause` is the intent's event id. Ids, run, step, call and
 * attempt live in the header only.
 */
import type { Json, JsonObject } from "#shared/json.ts";
import type { Draft, StoredEvent } from "#ports/event-log.ts";
import type {
  FinishReason,
  ModelErrorCode,
  ModelSettings,
  OutputSpec,
  Usage,
} from "#ports/model.ts";
import type { PlanItem, ToolEffect } from "#ports/tool.ts";
import type { AgentManifest } from "./manifest.ts";

export type Delivery = "queue" | "steer" | "reject";

/** [seq of the event, part index (0 for the whole event), cut: kept characters, 0 for uncut]. */
export type PromptRef = readonly [seq: number, part: number, cut: number];

/** Refs of a request, as a change of an earlier request's refs; `base` null is a full listing (rule K10). */
export interface PromptRefs {
  readonly base: number | null;
  readonly drop: number;
  readonly add: readonly PromptRef[];
}

/** What the gate's hooks said, in their order; recorded in the intent (rule G3). */
export interface Verdicts {
  readonly policy: string;
  readonly guardrail: string;
  readonly loopGuard: string;
}
export interface Reservation {
  readonly costMicros: number;
  readonly tokens: number;
}
export interface Settlement {
  readonly costMicros: number;
  readonly tokens: number;
  /** True where the provider gave no usage and it was estimated. */
  readonly estimated: boolean;
}

export type RefusalCode =
  | "tool_args_invalid"
  | "tool_args_truncated"
  | "unknown_tool"
  | "duplicate_call_id"
  | "tool_unavailable"
  | "tool_call_limit"
  | "denied_by_policy"
  | "approval_required"
  | "loop_guard"
  | "budget_exhausted"
  | "run_cancelled"
  | "run_failed";

export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
}

export type AnswerPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly meta: Json }
  | {
      readonly type: "call";
      /** Ours, unique in the log. */
      readonly callId: string;
      readonly providerCallId: string;
      readonly name: string;
      readonly argsText: string;
      /** What policy, audit and the tool see; null when refused before it could be parsed. */
      readonly args: JsonObject | null;
      readonly refusal: Refusal | null;
    };

/** How the answer fits the run's output schema; null when the run asked for none or the answer is not final. */
export type OutputCheck =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly issues: readonly string[] };

export type ToolStatus = "ok" | "error" | "unknown" | "cancelled";

export interface ToolResult {
  readonly status: ToolStatus;
  /** Stable machine code of a status other than ok. */
  readonly code: string | null;
  /** What the model is shown: never empty, bounded by the tool's `maxResultBytes`. */
  readonly output: string;
  /** Size of the whole output in bytes, and where the rest can be read when `output` is a preview of it. */
  readonly bytes: number;
  readonly handle: string | null;
}

/** `stop` is the only unqualified success. */
export type RunFinish =
  | "stop"
  | "length"
  | "content_filter"
  | "empty_output"
  | "loop_guard"
  | "step_cap";

export type RunFailure =
  | "model_unavailable"
  | "model_failed"
  | "model_rejected"
  | "context_overflow"
  | "output_invalid"
  | "cost_cap"
  | "token_cap"
  | "definition_unavailable"
  | "recovery_exhausted"
  | "deadline_exceeded"
  | "internal";

export interface ThreadEvents {
  readonly "thread.created": { readonly owner: string; readonly title: string | null };
  readonly "state.set": { readonly state: Json };
  readonly "definition.pinned": { readonly manifest: AgentManifest };
  readonly "input.received": {
    readonly messageId: string;
    readonly text: string;
    readonly delivery: Delivery;
    readonly output: OutputSpec | null;
  };
  /** `inputs` are seqs of `input.received`, in prompt order. */
  readonly "run.started": { readonly inputs: readonly number[] };
  readonly "model.requested": {
    readonly compiler: number;
    readonly refs: PromptRefs;
    /** Chained digest of the compiled prompt (rule K11). */
    readonly digest: string;
    readonly route: string;
    readonly settings: ModelSettings;
    /** Seqs of steering inputs that enter the prompt with this request. */
    readonly steered: readonly number[];
    readonly verdicts: Verdicts;
    readonly reservation: Reservation;
  };
  readonly "model.answered": {
    readonly parts: readonly AnswerPart[];
    readonly finish: FinishReason;
    readonly rawFinish: string | null;
    readonly usage: Usage;
    readonly output: OutputCheck | null;
    readonly meta: JsonObject;
    readonly settlement: Settlement;
  };
  readonly "model.failed": {
    readonly code: ModelErrorCode;
    readonly message: string;
    /** Partial text the client may have seen; never enters a prompt. */
    readonly partial: string;
    /** Epoch ms of the next attempt, or null when there is none. */
    readonly retryAt: number | null;
    readonly settlement: Settlement;
  };
  /** Outcome of an attempt that the process did not survive. */
  readonly "model.interrupted": { readonly settlement: Settlement };
  readonly "tool.started": {
    readonly name: string;
    readonly version: string;
    readonly args: JsonObject;
    readonly effect: ToolEffect;
    readonly idempotencyKey: string;
    /** `check` asks a reconcile tool whether an interrupted attempt happened. */
    readonly mode: "execute" | "check";
    readonly verdicts: Verdicts;
    readonly reservation: Reservation;
  };
  readonly "tool.finished": { readonly result: ToolResult; readonly settlement: Settlement };
  readonly "tool.refused": { readonly name: string; readonly refusal: Refusal };
  readonly "tool.interrupted": { readonly next: "rerun" | "check" | "report_unknown" };
  /** A result that arrived after its call was closed: recorded on its run, seen by no prompt. */
  readonly "tool.late": { readonly result: ToolResult };
  readonly "file.written": {
    readonly path: string;
    readonly digest: string;
    readonly bytes: number;
  };
  readonly "file.deleted": { readonly path: string };
  readonly "plan.updated": { readonly items: readonly PlanItem[] };
  /** Text that the runtime puts before the model: an event first, prompt second (rule K12). */
  readonly "context.added": {
    readonly kind: "reminder" | "repair" | "recall";
    readonly text: string;
  };
  readonly "run.cancel_requested": { readonly reason: string };
  readonly "run.completed": {
    readonly finish: RunFinish;
    readonly text: string;
    readonly output: Json;
  };
  readonly "run.failed": { readonly reason: RunFailure; readonly message: string };
  readonly "run.cancelled": { readonly reason: string };
}

export type ThreadEventType = keyof ThreadEvents;
export type ThreadEvent = StoredEvent<ThreadEvents>;
export type ThreadDraft = Draft<ThreadEvents>;
