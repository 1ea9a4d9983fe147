/**
 * The hooks of a deployment that plugs in none: approvals are required where a tool asks for them (T10), and
 * loops are stopped (B1), and nothing else is asked of an effect than what its run allows.
 */
import type { BudgetHook, GateHooks, GuardrailHook, PolicyHook } from "./gate-hooks.ts";
import { LOOP_GUARD } from "./loop-guard.ts";

export const DEFAULT_POLICY: PolicyHook = {
  check: (view) =>
    view.kind === "tool" && view.pin.approval !== "never"
      ? {
          allow: "ask",
          message: `The tool ${view.pin.name} runs only after a person has approved the call, and nobody has.`,
        }
      : { allow: true, verdict: "allow" },
};

export const NO_GUARDRAIL: GuardrailHook = {
  holdsLiveText: false,
  input: () => ({ allow: true, verdict: "none" }),
  toolOutput: (_view, text) => text,
  modelText: (_view, text) => text,
};

/** Nothing beyond the run's own caps, which the kernel checks with this reservation counted (G11). */
export const NO_BUDGET: BudgetHook = {
  reserve: (view) => ({ allow: true, reservation: view.reservation }),
  settle: () => undefined,
};

export const DEFAULT_HOOKS: GateHooks = {
  policy: DEFAULT_POLICY,
  guardrail: NO_GUARDRAIL,
  loopGuard: LOOP_GUARD,
  budget: NO_BUDGET,
};
