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
import type { ClientRequest, PlanItem, ToolEffect, ToolReport } from "#ports/tool.ts";
import type { BudgetAsk, BudgetStop, LeaseEvents, RunEnd } from "./amounts.ts";
import type { AgentManifest } from "./manifest.ts";
import type { ScheduleEvents } from "./schedule-events.ts";
import type { TokenUsage } from "./token-usage.ts";
import type { ToolResult } from "./tool-result.ts";

export type { ToolResult };

/** What becomes of a message while a run is live; `interrupt` cancels that run and starts at once (K40). */
export type Delivery = "queue" | "steer" | "reject" | "interrupt";

/** Why a branch began (K42): another answer to one message, another text of it, or an empty window. */
export type BranchReason = "regenerate" | "edit" | "clear";

/** An entry of the window as an event holds it. Kinds: 0 user, 1 assistant, 2 result, 3 context. */
export type KeptEntry = readonly [
  seq: number,
  cut: number,
  kind: 0 | 1 | 2 | 3,
  tokens: number,
  chars: number,
  unit: number,
];

/** What every change of the branch records: the way back to all others (K44). */
interface BranchChange {
  readonly branch: string;
  /** Seq of the branch event before this one; null for the first. */
  readonly previous: number | null;
  /** The window of the branch that is left, and the plan in it: what choosing it again restores. */
  readonly left: readonly KeptEntry[];
  readonly leftPlan: number | null;
  /** The window from here on. It holds no plan: a `plan.updated` beside this event repeats it. */
  readonly window: readonly KeptEntry[];
}

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
  /** Id of the approval under which the call runs; absent when it needed none. */
  readonly approval?: string;
}
export interface Reservation {
  readonly costMicros: number;
  readonly tokens: number;
  /** Nobody knows what the call costs; `costMicros` is 0 and means nothing (B23). Absent: it is priced. */
  readonly unpriced?: true;
  /** Longest time the call was taken to last. Absent: it runs under no lease. */
  readonly wallMs?: number;
}
export interface Settlement {
  readonly costMicros: number;
  readonly tokens: number;
  /** True where the provider gave no usage and it was estimated. */
  readonly estimated: boolean;
  /** Nobody knows what the call cost; `costMicros` is 0 and the header's is null (B23). Absent: it is priced. */
  readonly unpriced?: true;
  /** Of a model call: its tokens by kind, which add up to `tokens`. Absent in logs from before there were kinds. */
  readonly usage?: TokenUsage;
  /** Of a model call: the route that was paid for. Absent as `usage` is. */
  readonly route?: string;
  /** What the call used above its reservation. Absent: nothing. */
  readonly overrun?: { readonly costMicros: number; readonly tokens: number };
}

export type CostKind = "normal" | "recovery" | "estimated";
/** A settlement as it was booked: the day and kind that it counts under. */
export interface BookedCost {
  readonly settlement: Settlement;
  readonly kind: CostKind;
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
  | "denied_by_human"
  | "approval_expired"
  | "approval_superseded"
  | "loop_guard"
  | "budget_exhausted"
  | "run_cancelled"
  | "run_failed";

/** What the loop guard saw (B1): the same call, a cycle of calls, nothing new, tools that do not exist (K21). */
export type LoopPattern = "repeat" | "cycle_2" | "cycle_3" | "no_progress" | "unknown_tools";
export interface LoopReport {
  readonly pattern: LoopPattern;
  /** Of the newest call, as the model named it. */
  readonly tool: string;
  /** Digest of its canonical arguments: equal arguments have equal ones, within this log. */
  readonly args: string;
  /** Calls of the pattern; of `unknown_tools` steps. */
  readonly count: number;
}

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

export type CallApprovalKind = "tool" | "question";
/** `budget`: no call waits, but the next model call of the run (B55). */
export type ApprovalKind = CallApprovalKind | "budget";
/** `approved` and `answered` let the call run; every other closes it unexecuted. */
export type ApprovalDecision =
  | "approved"
  | "denied"
  | "answered"
  | "expired"
  | "cancelled"
  | "superseded";
/** What a person asks for. */
export type DecisionVerb = "approve" | "deny" | "answer";
export type ApprovalRefusalReason =
  | "approval_already_decided"
  | "approval_superseded"
  | "approval_expired"
  | "approval_cancelled";

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
  | "price_unknown"
  | "budget_exceeded"
  | "ledger_unavailable"
  | "definition_unavailable"
  | "recovery_exhausted"
  | "deadline_exceeded"
  | "internal";

export interface ThreadEvents extends LeaseEvents, ScheduleEvents {
  readonly "thread.created": { readonly owner: string; readonly title: string | null };
  /** An operator's stop: nothing is started until `thread.resumed` (B10). Names the live run, where there is one. */
  readonly "thread.halted": { readonly reason: string };
  readonly "thread.resumed": { readonly reason: string | null };
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
    /** Digest of the compiled prompt (rule K11). */
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
    /** Tool whose call was written as text instead of made (K25). Absent: none. */
    readonly textCall?: string;
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
  /**
   * What an attempt really used, known late (B26). Header: `cause` the intent, `costMicros` what `after` costs more than
   * `before`, which may be negative.
   */
  readonly "usage.corrected": {
    /** Epoch ms of the outcome: the day that the cost belongs to. */
    readonly outcomeAt: number;
    readonly before: BookedCost;
    readonly after: BookedCost;
  };
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
  /** What a call that is under way says of itself. Changes nothing; no prompt holds it. */
  readonly "tool.reported": ToolReport;
  /** A call waits for a person (A1). The event's id is the approval's id. Of kind `budget` the header names no call. */
  readonly "approval.requested": {
    readonly kind: ApprovalKind;
    /** Of kind `budget`: the budget's id. */
    readonly tool: string;
    readonly version: string;
    /** SHA-256 over canonical tool, version, schema digest, arguments and definition (A2). */
    readonly binding: string;
    /** Hash of the `model.answered` that proposed the call. */
    readonly proposal: string;
    /** Exactly what would run; null for a question. */
    readonly args: JsonObject | null;
    readonly question: string | null;
    /** JSON Schema of the answer; null takes any text. */
    readonly answerSchema: JsonObject | null;
    /** How a client that asks in the person's place is to be asked. Absent: in the words of the question. */
    readonly client?: ClientRequest;
    readonly expiresAt: number;
    /** Of kind `budget`: what a yes grants. */
    readonly budget?: BudgetAsk;
  };
  /** The one decision (A3). Header: `cause` the approval, `actor` who decided, null for the runtime itself. */
  readonly "approval.decided": {
    readonly decision: ApprovalDecision;
    readonly comment: string | null;
    readonly answer: Json;
    /** The decider's own id of the message that decided. Absent: it has none. */
    readonly messageId?: string;
  };
  /** A later attempt to decide: recorded, changes nothing. Header as of `approval.decided`. */
  readonly "approval.refused": {
    readonly attempted: DecisionVerb;
    readonly reason: ApprovalRefusalReason;
  };
  readonly "file.written": {
    readonly path: string;
    readonly digest: string;
    readonly bytes: number;
  };
  readonly "file.deleted": { readonly path: string };
  readonly "plan.updated": { readonly items: readonly PlanItem[] };
  /** Text that the runtime puts before the model: an event first, prompt second (rule K12). */
  readonly "context.added": {
    readonly kind: "reminder" | "repair" | "recall" | "history";
    readonly text: string;
    /** A reminder of the loop guard (B3). */
    readonly loop?: LoopReport;
  };
  readonly "branch.started": BranchChange & {
    readonly parent: string;
    readonly reason: BranchReason;
    /** Messages of the parent up to this seq belong to the new branch too, */
    readonly keepTo: number;
    /** but not these: the message that is replaced, and inputs that no prompt held yet. */
    readonly without: readonly number[];
    /** The input that is answered again, where the branch brings none of its own. */
    readonly again: {
      readonly seq: number;
      readonly output: OutputSpec | null;
      readonly tokens: number;
      readonly chars: number;
    } | null;
  };
  readonly "branch.selected": BranchChange;
  /** Payloads of the thread, or of the run in its header, are to be forgotten (H30). Its id is the erasure's. */
  readonly "erasure.requested": {
    readonly target: ErasureTarget;
    /** Opaque id: who may still read what is left, once the event that said it is erased. */
    readonly owner: string;
    /** The erasure of a subject that this is part of, or null. */
    readonly origin: string | null;
  };
  /** Nothing of it is left anywhere; `cause` is the request. */
  readonly "erasure.completed": {
    readonly target: ErasureTarget;
    readonly stores: readonly ErasedStore[];
    /** How far freed space was wiped: rewritten whole, or overwritten in place where the log is long. */
    readonly wiped: "rewritten" | "overwritten";
    /** What runs came to, where only a payload said it: counts outlive what they count. */
    readonly kept: readonly KeptRun[];
  };
  readonly "run.cancel_requested": { readonly reason: string };
  readonly "run.completed": RunEnd & {
    readonly finish: RunFinish;
    readonly text: string;
    readonly output: Json;
    /** Of finish `loop_guard` (B4). */
    readonly loop?: LoopReport;
  };
  readonly "run.failed": RunEnd & {
    readonly reason: RunFailure;
    readonly message: string;
    /** With `budget_exceeded` and `price_unknown`. */
    readonly budget?: BudgetStop;
  };
  readonly "run.cancelled": RunEnd & { readonly reason: string };
}

export type ErasureTarget = "thread" | "run";
/** How many things of a store were erased. */
export interface ErasedStore {
  readonly store: string;
  readonly count: number;
}
export interface KeptRun {
  readonly runId: string;
  readonly finish: string | null;
  readonly reason: string | null;
  readonly tokens: number;
}

export type ThreadEventType = keyof ThreadEvents;
export type ThreadEvent = StoredEvent<ThreadEvents>;
export type ThreadDraft = Draft<ThreadEvents>;
