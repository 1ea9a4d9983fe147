/**
 * State of one thread, folded from its log. Plain readonly data: it is dumped to a snapshot as it is.
 *
 * Bounded by design: finished runs leave nothing, and the window holds references, not texts, of at most the prompt's
 * size. So a step costs the same at any length of history (K13).
 */
import type { Json } from "#shared/json.ts";
import type { OutputSpec } from "#ports/model.ts";
import type { PlanItem, ToolEffect } from "#ports/tool.ts";
import type { Amounts, BudgetStop, RunTotals } from "./amounts.ts";
import type {
  CallApprovalKind,
  ErasureTarget,
  PromptRef,
  Refusal,
  Reservation,
  RunFailure,
} from "./events.ts";
import type { CallDigests, LoopState } from "./loop-guard.ts";
import type { AgentManifest } from "./manifest.ts";
import type { ScheduleState } from "./schedule-events.ts";

export interface ThreadState {
  /** Last folded seq; the next event has the next one. */
  readonly seq: number;
  /** Highest epoch seen. */
  readonly epoch: number;
  readonly created: boolean;
  /** Null before creation, and once the creating event was erased: then the thread is closed to everybody. */
  readonly owner: string | null;
  readonly title: string | null;
  readonly shared: Json;
  /** An operator's stop; null while the thread works (B10). */
  readonly halt: Halt | null;
  /** The run that is live, or null. Never two (K3). */
  readonly run: RunState | null;
  /** Inputs whose run has not begun, oldest first. */
  readonly queue: readonly QueuedInput[];
  readonly window: readonly WindowEntry[];
  /** The newest request's refs, for the next one to build on. */
  readonly lastRequest: LastRequest | null;
  readonly plan: readonly PlanItem[];
  /** Seq of the `plan.updated` that the window shows, or null. */
  readonly planSeq: number | null;
  /** A plan that was updated in the tool round at hand: enters the window behind its results. */
  readonly pendingPlan: WindowEntry | null;
  /** The branch that is active; its seq leads to all others, which lie in the log only (K44). */
  readonly branch: { readonly id: string; readonly seq: number | null };
  /** Manifests that the live run, a queued input or the next message may need; the newest is last. */
  readonly pins: readonly Pin[];
  /** The erasure under way, or null. Never two. */
  readonly erasure: OpenErasure | null;
  /** Calls closed by cancellation while their attempt still ran, so that a late result finds its run. */
  readonly abandoned: readonly AbandonedCall[];
  /** What the calls of the live run brought, since somebody last said something (B1). */
  readonly loop: LoopState;
  /** What the live run may spend without asking the ledger, or null. */
  readonly lease: LeaseState | null;
  /** The one before, as it was closed. */
  readonly closedLease: ClosedLease | null;
  readonly schedules: readonly ScheduleState[];
  /** Runs that schedules began on the newest UTC day that had one. */
  readonly firings: { readonly day: string; readonly count: number };
  /** Leases granted or declined so far: numbers the next one, the same after a crash (B46). */
  readonly leases: number;
}

export interface ClosedLease {
  readonly leaseId: string;
  /** Of `lease.closed`. */
  readonly seq: number;
  readonly settled: Amounts;
  readonly overrun: Amounts;
}
export interface LeaseState {
  readonly leaseId: string;
  readonly runId: string;
  readonly granted: Amounts;
  readonly settled: Amounts;
  /** Used above reservations. */
  readonly overrun: Amounts;
  readonly until: number;
  readonly priced: boolean;
}

export interface Halt {
  readonly seq: number;
  readonly at: number;
  readonly by: string | null;
  /** Null once erased. */
  readonly reason: string | null;
}
export interface OpenErasure {
  readonly id: string;
  readonly seq: number;
  readonly target: ErasureTarget;
  /** Set where one run is the target. */
  readonly runId: string | null;
}
export interface Pin {
  readonly definition: string;
  readonly seq: number;
  readonly manifest: AgentManifest;
  /** Estimated tokens of instructions and tools. */
  readonly tokens: number;
}
export interface LastRequest {
  readonly seq: number;
  readonly refs: readonly PromptRef[];
  /** Requests since the last full listing. */
  readonly sinceFull: number;
}
export interface AbandonedCall {
  readonly callId: string;
  readonly intentId: string;
  readonly runId: string;
  readonly step: number;
}

export interface QueuedInput {
  readonly seq: number;
  readonly messageId: string;
  readonly runId: string;
  readonly output: OutputSpec | null;
  readonly definition: string;
  readonly tokens: number;
  readonly chars: number;
}

/** One prompt-bearing thing in prompt order. A call and its result share a `unit` and are never parted (K8). */
export interface WindowEntry {
  readonly ref: PromptRef;
  readonly kind: "user" | "assistant" | "result" | "context";
  /** Estimated tokens of the entry as cut. */
  readonly tokens: number;
  /** Characters of the entry as cut; what a cut is measured in. */
  readonly chars: number;
  /** Entries of one unit are kept or trimmed together; the unit's id is the seq of its first event. */
  readonly unit: number;
}

export type RunPhase =
  /** Waits for its next model call. */
  | { readonly type: "ready" }
  | { readonly type: "model_open"; readonly intent: OpenModel }
  | { readonly type: "backoff"; readonly retryAt: number }
  /** A budget has no room for its next model call, and a person is asked (B55). */
  | { readonly type: "asking"; readonly approval: BudgetApproval }
  /** Some calls of the step have no result yet. */
  | { readonly type: "tools"; readonly answer: AnswerSummary; readonly calls: readonly CallState[] }
  /** An answer is in, its calls are closed, and it wants a verdict: finish, repair, next step. */
  | { readonly type: "answered"; readonly answer: AnswerSummary }
  /** The last attempt failed for good; only `run.failed` is missing. */
  | {
      readonly type: "failed";
      readonly reason: RunFailure;
      readonly message: string;
      readonly budget?: BudgetStop;
    }
  /** The outcome at `seq` was erased: what it asked for is not known any more, only what became of it. */
  | { readonly type: "erased"; readonly seq: number };

export interface OpenModel {
  readonly intentId: string;
  readonly seq: number;
  readonly epoch: number;
  readonly attempt: number;
  readonly reserved: Reservation;
  /** Most output tokens that were asked for. */
  readonly maxOutputTokens: number;
  readonly route: string;
  /** Null: nobody knew the route's price. */
  readonly priceVersion: string | null;
  readonly at: number;
  /** Null where no ledger stands behind the run. */
  readonly leaseId: string | null;
}
export interface AnswerSummary {
  readonly seq: number;
  readonly finish: string;
  readonly hasText: boolean;
  readonly calls: number;
  /** How the final answer fits the schema; null when none was asked for or the answer was not final. */
  readonly output: { readonly ok: boolean; readonly issues: readonly string[] } | null;
  /** Tool whose call was written as text, or null (K25). */
  readonly textCall: string | null;
}
export interface OpenCall {
  readonly intentId: string;
  readonly seq: number;
  readonly epoch: number;
  readonly effect: ToolEffect;
}
/** A person's say over one call. Decided against the call, it becomes the call's `refusal`. */
export interface CallApproval {
  readonly approvalId: string;
  /** Of `approval.requested`. */
  readonly seq: number;
  readonly kind: CallApprovalKind;
  readonly expiresAt: number;
  /** Seq of `approval.decided`; null while open. */
  readonly decidedSeq: number | null;
}
/** A person's say over more of a budget: open as long as the run's phase holds it. */
export interface BudgetApproval {
  readonly approvalId: string;
  /** Of `approval.requested`. */
  readonly seq: number;
  readonly expiresAt: number;
  /** Null once erased. */
  readonly stop: BudgetStop | null;
}
export interface CallState {
  readonly callId: string;
  readonly name: string;
  readonly argsPart: number;
  readonly digests: CallDigests;
  readonly refusal: Refusal | null;
  /** `waiting`: only a person moves it. */
  readonly status: "pending" | "waiting" | "open" | "interrupted" | "closed";
  readonly next: "execute" | "check";
  readonly attempts: number;
  /** Set while open. */
  readonly intent: OpenCall | null;
  /** Idempotency key of the first attempt, kept for all later ones. */
  readonly key: string | null;
  /** Null when none was asked for. */
  readonly approval: CallApproval | null;
  /** Seq, tokens and characters of the event that holds the result, once closed. */
  readonly result: {
    readonly seq: number;
    readonly tokens: number;
    readonly chars: number;
    /** What the loop guard compares; null where nothing is known, or the guard itself refused. */
    readonly digest: string | null;
  } | null;
}

/** An approval as it lies in the log. */
export interface GivenApproval {
  readonly approvalId: string;
  readonly requestedSeq: number;
  readonly decidedSeq: number;
}

export interface RunState {
  readonly runId: string;
  readonly messageId: string;
  readonly definition: string;
  readonly startedSeq: number;
  /** Model answers so far; an open model attempt belongs to step `step + 1`, open calls to step `step`. */
  readonly step: number;
  readonly phase: RunPhase;
  readonly output: OutputSpec | null;
  /** Inputs that enter the prompt with the next request. */
  readonly steering: readonly QueuedInput[];
  readonly cancel: { readonly reason: string } | null;
  /** Closed attempts, failed or interrupted, of the model step that is due. */
  readonly attempts: number;
  /** The failed ones among them: bounds retries (K6). */
  readonly failures: number;
  /** The newest attempt of the due model step was interrupted, so the next one is recovery (G12). */
  readonly interrupted: boolean;
  /** Epochs in a row that closed an interrupted attempt, with no finished effect between: bounds recovery (K15). */
  readonly recoveries: number;
  readonly recoveryEpoch: number | null;
  readonly repairs: number;
  /** How many fallbacks of the manifest were taken: 0 is its own route (K26). */
  readonly fallback: number;
  /** Most tokens of history that a request may hold, once a provider found one too long (K27). */
  readonly windowCap: number | null;
  /** The model was told once that tools are not called in text (K25). */
  readonly reminded: boolean;
  /** Empty answers in a row (K23). */
  readonly emptyAnswers: number;
  /** Answers in a row whose last call was cut off (K20). */
  readonly truncatedAnswers: number;
  /** Steps in a row with nothing but unknown tools (K21). */
  readonly unknownToolSteps: number;
  /** Started calls per tool (G11). */
  readonly callsPerTool: { readonly [tool: string]: number };
  readonly totals: RunTotals;
  /** Newest answer with text. */
  readonly lastTextSeq: number | null;
  /** What it has worked, and since when its clock runs; null while only people move it (B57). */
  readonly clock: { readonly workedMs: number; readonly since: number | null };
  /** A person's yes to more of a budget, until the model call that it is for. */
  readonly grant: GivenApproval | null;
}

/** The route of the run's next model call (K26). */
export function routeOf(run: RunState, { route, fallbacks = [] }: AgentManifest): string {
  return run.fallback === 0 ? route : (fallbacks[run.fallback - 1] ?? route);
}

/** Whether nothing but a person's decision, or its expiry, moves this run. */
export function isWaitingForHumans({ phase }: RunState): boolean {
  if (phase.type === "asking") return true;
  return (
    phase.type === "tools" &&
    phase.calls.some((call) => call.status === "waiting") &&
    phase.calls.every((call) => call.status === "waiting" || call.status === "closed")
  );
}

/** Whether nothing but a command, of a person or an operator, moves this thread on. */
export function isAtRest({ run, queue, halt }: ThreadState): boolean {
  if (run === null) return halt !== null || queue.length === 0;
  return halt === null ? isWaitingForHumans(run) : !hasOpenIntent(run);
}

function hasOpenIntent({ phase }: RunState): boolean {
  if (phase.type !== "tools") return phase.type === "model_open";
  return phase.calls.some(({ status }) => status === "open");
}

/** When the first open approval of the step at hand expires; infinity when there is none. */
export function firstExpiry({ phase }: RunState): number {
  if (phase.type === "asking") return phase.approval.expiresAt;
  if (phase.type !== "tools") return Infinity;
  return phase.calls.reduce(
    (first, { status, approval }) =>
      status === "waiting" && approval !== null ? Math.min(first, approval.expiresAt) : first,
    Infinity,
  );
}

/** The manifest a definition hash stands for, or null when it is not pinned here any more. */
export function pinOf(state: ThreadState, definition: string): Pin | null {
  return state.pins.find((pin) => pin.definition === definition) ?? null;
}
