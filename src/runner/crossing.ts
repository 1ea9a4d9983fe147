/**
 * Crossing: one effect as the gate sees it. Model calls and tool calls implement it; later effects (delegation, memory,
 * messages to humans) do too, and none has a second path.
 */
import type {
  ThreadDraft,
  ToolResult,
  Refusal,
  Reservation,
  Settlement,
  Verdicts,
} from "#kernel/events.ts";
import type { FileChange } from "#ports/workspace.ts";
import type { JsonObject } from "#shared/json.ts";
import type { BudgetRefused, EffectView, GuardrailHook } from "./gate-hooks.ts";
import type { Interrupt } from "./interrupt.ts";

/** What the hooks agreed to. */
export interface Admission {
  readonly verdicts: Verdicts;
  readonly reservation: Reservation;
  /** What the hooks want recorded, right before the intent. */
  readonly drafts: readonly ThreadDraft[];
  readonly leaseId: string | null;
  /** Arguments after the guardrail; null for effects without any. */
  readonly args: JsonObject | null;
}

export interface Outcome {
  /** The outcome event, then what commits with it. */
  readonly drafts: readonly ThreadDraft[];
  readonly settlement: Settlement;
  /** Staged file changes; dropped when the outcome is refused (T6). */
  readonly changes: readonly FileChange[];
  /** The outcome instead, when the changes do not fit the workspace as it is now. */
  readonly without: ((reason: unknown) => readonly ThreadDraft[]) | null;
  /** What to record when the intent was closed meanwhile; null when there is nothing to tell (G10). */
  readonly late: ToolResult | null;
}

export interface Crossing {
  /** Minted before anything leaves the object (G2). */
  readonly intentId: string;
  readonly view: EffectView;
  /** Refusal before any hook is asked, such as a tool that is gone (T9). */
  readonly unavailable: Refusal | null;
  /** How a refusal is recorded; `budget` says which budget refused. */
  refuse(refusal: Refusal, budget: BudgetRefused | null): readonly ThreadDraft[];
  /** How a person is asked (A1); null for effects that nobody is asked about. */
  ask(args: JsonObject | null): readonly ThreadDraft[] | null;
  /** Why the approval does not cover what would run now (A2); null when it does, or there is none. */
  uncovered(args: JsonObject | null): Refusal | null;
  intent(admission: Admission): ThreadDraft;
  /** Never throws: whatever goes wrong outside is an outcome. Runs the output guardrail on what came back. */
  dispatch(admission: Admission, context: DispatchContext): Promise<Outcome>;
}
export interface DispatchContext {
  /** Cancelled when the run was, or the object shuts down; expired by the crossing itself. */
  readonly interrupt: Interrupt;
  readonly guardrail: GuardrailHook;
  /** Between what came back and the output guardrail. */
  readonly dispatched: () => Promise<void>;
}
