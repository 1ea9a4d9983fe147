/**
 * Hooks of the gate: where policy engine, guardrails, loop guard and budgets plug in.
 *
 * Each is asked in the order of rule G1 with a read-only view of the effect and answers allow or a refusal. A guardrail
 * may replace what passes: what it returns is what intent, audit and tool see (T2). A hook that throws refuses nothing
 * by accident: the gate turns the throw into a refusal, so every hook fails closed.
 *
 * A hook appends nothing itself. What it wants in the log it gives along as `drafts`: they stand right before the intent
 * in the same append, so they are there exactly when the effect they speak of was let through (G13).
 */
import type { ModelRequest } from "#ports/model.ts";
import type { BudgetAsk, BudgetStop } from "#kernel/amounts.ts";
import type { Refusal, Reservation, Settlement, ThreadDraft } from "#kernel/events.ts";
import type { ThreadState } from "#kernel/state.ts";
import type { ToolPin } from "#kernel/manifest.ts";
import type { BudgetGrant } from "#ports/budget-ledger.ts";
import type { HumanDecision } from "#ports/tool.ts";
import type { ThreadAddress } from "#shared/ids.ts";
import type { JsonObject } from "#shared/json.ts";
import type { Timers } from "./timers.ts";

interface EffectScope {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  /** What the kernel counts against the run's own caps (G11). */
  readonly reservation: Reservation;
  readonly state: ThreadState;
}
export interface ModelView extends EffectScope {
  readonly kind: "model";
  readonly route: string;
  readonly request: ModelRequest;
  readonly inputTokens: number;
  /** A person's yes to more of a budget, for this call; null where nobody was asked (B55). */
  readonly grant: BudgetGrant | null;
}
export interface ToolView extends EffectScope {
  readonly kind: "tool";
  readonly callId: string;
  readonly pin: ToolPin;
  readonly args: JsonObject;
  readonly mode: "execute" | "check";
  /** A person's yes to exactly this call; null where nobody was asked. Whoever denies goes before it. */
  readonly approval: HumanDecision | null;
}
export type EffectView = ModelView | ToolView;

/** A hook may need another object (a ledger, a policy store), so it may answer later. */
export type Awaitable<T> = T | Promise<T>;

export interface Allowed {
  readonly allow: true;
  /** Recorded in the intent (G3): the rule that allowed, never arguments. */
  readonly verdict: string;
  /** Recorded right before the intent. Absent: none. */
  readonly drafts?: readonly ThreadDraft[];
}
export interface Refused {
  readonly allow: false;
  readonly refusal: Refusal;
}
/**
 * Asks a person first: the call waits as an approval (A1). Where `approval` is given the question is answered, and asking
 * again allows. An effect that nobody can be asked about is refused as `approval_required` (T10).
 */
export interface Asked {
  readonly allow: "ask";
  readonly message: string;
}

export interface PolicyHook {
  check(view: EffectView): Awaitable<Allowed | Refused | Asked>;
}
export interface GuardrailHook {
  /** True withholds live text until `modelText` has passed the whole answer. */
  readonly holdsLiveText: boolean;
  /** `args` replaces a tool's arguments; a prompt can be refused but not changed, because its references rebuild it (K10). */
  input(view: EffectView): Awaitable<(Allowed & { readonly args?: JsonObject }) | Refused>;
  /** What the model is shown of a tool's result. */
  toolOutput(view: ToolView, text: string): Awaitable<string>;
  /** One text part of an answer, before it is recorded. */
  modelText(view: ModelView, text: string): Awaitable<string>;
}
export interface LoopGuardHook {
  check(view: EffectView): Awaitable<Allowed | Refused>;
}
export interface BudgetRefused {
  readonly allow: false;
  readonly cap:
    | "cost_cap"
    | "token_cap"
    | "budget_exceeded"
    | "price_unknown"
    | "ledger_unavailable";
  readonly message: string;
  /** Which budget, where it is one of the tenant's. */
  readonly budget?: BudgetStop;
  /** At its limit this budget wants a cheaper route rather than an end (B49). */
  readonly cheaper?: boolean;
  /** At its limit this budget has a person asked (B55). Absent: nobody is. */
  readonly ask?: BudgetAsk;
}
export interface Reserved {
  readonly allow: true;
  readonly reservation: Reservation;
  readonly drafts?: readonly ThreadDraft[];
  /** What the effect is charged to; stands in the headers of its intent and its outcome. */
  readonly leaseId?: string;
}
export interface BudgetHook {
  reserve(view: EffectView): Awaitable<Reserved | BudgetRefused>;
  /** The effect was not dispatched after all, or its outcome is recorded with this settlement. */
  settle(view: EffectView, reservation: Reservation, settlement: Settlement | null): void;
}
export interface GateHooks {
  readonly policy: PolicyHook;
  readonly guardrail: GuardrailHook;
  readonly loopGuard: LoopGuardHook;
  readonly budget: BudgetHook;
}

/** The thread whose effects are judged. Its owner is null until it is created. */
export interface HookThread extends ThreadAddress {
  readonly logId: string;
  /** For a hook that has to wait before it asks again. */
  readonly timers: Timers;
  readonly owner: string | null;
}
/** Hooks of one thread, made when it is opened: what they keep in memory is that thread's own. */
export type HookFactory = (thread: HookThread) => GateHooks;

/**
 * Where an effect stands, for crash tests: production crosses freely, a test throws to die exactly here.
 * Asynchronous, so that a test may also park an effect between two points.
 */
export type CrossingPoint = "before_intent" | "after_intent" | "after_dispatch" | "after_outcome";
export interface Boundary {
  cross(point: CrossingPoint, effectId: string): Awaitable<void>;
}
export const OPEN_BOUNDARY: Boundary = { cross: () => undefined };
