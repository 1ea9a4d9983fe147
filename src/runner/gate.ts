/**
 * Gate: the one function that every effect crosses, in the order of rule G1: policy, input guardrail, loop guard,
 * budget, intent, dispatch, output guardrail, outcome, settlement.
 *
 * Invariants:
 * G1 Nothing is dispatched before its intent is durable; each intent gets one outcome, or is closed by recovery.
 * G2 The intents of one round are one append, so a crash leaves all or none of them.
 * G13 What hooks want recorded stands right before the intent, in its append.
 * G4 A refusal is recorded instead of an intent, and nothing is dispatched.
 * A2 An approved call crosses again, all of it: a denial goes before the approval, and what would run now must be what the
 *    person was shown.
 * G10 An outcome whose intent is no longer open is recorded as late on its run, or dropped; it is never thrown.
 */
import type { Settlement, ThreadDraft, Verdicts } from "#kernel/events.ts";
import type { ThreadState } from "#kernel/state.ts";
import type { WorkspaceStore } from "#ports/workspace-store.ts";
import { isAppError } from "#shared/errors.ts";
import type { Admission, Crossing, Outcome } from "./crossing.ts";
import type {
  Allowed,
  Asked,
  Boundary,
  BudgetRefused,
  EffectView,
  GateHooks,
  Reserved,
} from "./gate-hooks.ts";
import type { Refusal } from "#kernel/events.ts";
import { Interrupt } from "./interrupt.ts";
import type { Journal } from "./journal.ts";
import { lateUsage } from "./late-usage.ts";

export interface GateDeps {
  readonly journal: Journal;
  readonly hooks: GateHooks;
  readonly boundary: Boundary;
  readonly workspace: Pick<WorkspaceStore, "commit">;
  /** An effect has settled: the loop looks again. */
  readonly settled: () => void;
  /** The process cannot go on: storage failed, another writer took over, or a test crashes it. */
  readonly faulted: (error: unknown) => void;
}

type Decision =
  | { readonly admitted: true; readonly admission: Admission }
  | { readonly admitted: "asked"; readonly drafts: readonly ThreadDraft[] }
  | {
      readonly admitted: false;
      readonly refusal: Refusal;
      readonly budget: BudgetRefused | null;
    };

interface Flight {
  readonly crossing: Crossing;
  readonly admission: Admission;
  readonly interrupt: Interrupt;
}

const ZERO: Settlement = { costMicros: 0, tokens: 0, estimated: false };

export class Gate {
  readonly #deps: GateDeps;
  readonly #flights = new Map<string, Flight>();

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /** Admits and dispatches a round; answers once the intents are durable, not when the outcomes are. */
  async cross(crossings: readonly Crossing[]): Promise<void> {
    const { journal, boundary } = this.#deps;
    const seq = journal.seq;
    const decisions = new Map<Crossing, Decision>();
    for (const crossing of crossings) {
      await boundary.cross("before_intent", crossing.intentId);
      decisions.set(crossing, await this.#decide(crossing));
    }
    // A hook took its time and the world moved (a cancel, a steer): what was admitted may no longer be wanted.
    if (journal.seq !== seq || journal.closed !== null) return this.#release(decisions);
    journal.append(() =>
      crossings.flatMap((crossing) => toDrafts(crossing, decisions.get(crossing))),
    );
    const flights = [...decisions].flatMap(([crossing, decision]) =>
      this.#launch(crossing, decision),
    );
    for (const [{ intentId }, { admitted }] of decisions)
      if (admitted !== false) await boundary.cross("after_intent", intentId);
    for (const flight of flights) void this.#fly(flight);
  }

  /** True while an effect of this wake is open. Flights that were cut loose by a cancel do not count. */
  hasOpenFlights(): boolean {
    return [...this.#flights.keys()].some((intentId) =>
      isIntentOpen(this.#deps.journal.state, intentId),
    );
  }

  /** Aborts what the log no longer waits for: a cancelled run's calls (K16). */
  abortClosed(reason: string): void {
    for (const [intentId, flight] of this.#flights) {
      if (!isIntentOpen(this.#deps.journal.state, intentId)) flight.interrupt.cancel(reason);
    }
  }

  abortAll(reason: string): void {
    for (const flight of this.#flights.values()) flight.interrupt.cancel(reason);
  }

  async #decide(crossing: Crossing): Promise<Decision> {
    if (crossing.unavailable !== null)
      return { admitted: false, refusal: crossing.unavailable, budget: null };
    try {
      return await this.#askHooks(crossing);
    } catch {
      // Fail closed: an effect that could not be judged is not an effect that was allowed.
      return {
        admitted: false,
        refusal: { code: "denied_by_policy", message: "The policy check failed." },
        budget: null,
      };
    }
  }

  async #askHooks(crossing: Crossing): Promise<Decision> {
    const { policy, guardrail, loopGuard, budget } = this.#deps.hooks;
    const allowed = await policy.check(crossing.view);
    if (allowed.allow === false) return { admitted: false, refusal: allowed.refusal, budget: null };
    const screened = await guardrail.input(crossing.view);
    if (!screened.allow) return { admitted: false, refusal: screened.refusal, budget: null };
    const args = crossing.view.kind === "tool" ? (screened.args ?? crossing.view.args) : null;
    const view =
      crossing.view.kind === "tool" && args !== null ? { ...crossing.view, args } : crossing.view;
    const approval = view.kind === "tool" ? view.approval : null;
    const uncovered = crossing.uncovered(args);
    if (uncovered !== null) return { admitted: false, refusal: uncovered, budget: null };
    // Asked with the arguments as they would run, after the guardrail.
    if (needsPerson(view, allowed) && approval === null) {
      const drafts = crossing.ask(args);
      if (drafts !== null) return { admitted: "asked", drafts };
      const message = allowed.allow === "ask" ? allowed.message : "Nobody can be asked about this.";
      return { admitted: false, refusal: { code: "approval_required", message }, budget: null };
    }
    const looping = await loopGuard.check(view);
    if (!looping.allow) return { admitted: false, refusal: looping.refusal, budget: null };
    const reserved = await budget.reserve(view);
    if (!reserved.allow) {
      const refusal = { code: "budget_exhausted", message: reserved.message } as const;
      if (reserved.ask !== undefined)
        return { admitted: "asked", drafts: crossing.refuse(refusal, reserved) };
      return { admitted: false, refusal, budget: reserved };
    }
    const verdicts: Verdicts = {
      policy: allowed.allow === "ask" ? "ask" : allowed.verdict,
      guardrail: screened.verdict,
      loopGuard: looping.verdict,
      ...(approval === null ? {} : { approval: approval.approvalId }),
    };
    const drafts = [allowed, screened, looping, reserved].flatMap(toHookDrafts);
    return {
      admitted: true,
      admission: {
        verdicts,
        reservation: reserved.reservation,
        leaseId: reserved.leaseId ?? null,
        drafts,
        args,
      },
    };
  }

  #release(decisions: ReadonlyMap<Crossing, Decision>): void {
    for (const [crossing, decision] of decisions) {
      if (decision.admitted === true)
        this.#deps.hooks.budget.settle(crossing.view, decision.admission.reservation, null);
    }
  }

  #launch(crossing: Crossing, decision: Decision): readonly Flight[] {
    if (decision.admitted !== true) return [];
    const flight = { crossing, admission: decision.admission, interrupt: new Interrupt() };
    this.#flights.set(crossing.intentId, flight);
    return [flight];
  }

  async #fly(flight: Flight): Promise<void> {
    const { boundary, hooks, settled, faulted } = this.#deps;
    const { crossing, admission, interrupt } = flight;
    try {
      const outcome = await crossing.dispatch(admission, {
        interrupt,
        guardrail: hooks.guardrail,
        dispatched: async () => boundary.cross("after_dispatch", crossing.intentId),
      });
      this.#settle(flight, outcome);
      await boundary.cross("after_outcome", crossing.intentId);
    } catch (error) {
      faulted(error);
    } finally {
      this.#flights.delete(crossing.intentId);
      settled();
    }
  }

  #settle(flight: Flight, outcome: Outcome): void {
    const { journal, hooks } = this.#deps;
    const { crossing, admission } = flight;
    if (journal.closed !== null) return;
    if (isIntentOpen(journal.state, crossing.intentId)) {
      this.#record(outcome);
      hooks.budget.settle(crossing.view, admission.reservation, outcome.settlement);
      return;
    }
    const late = toLate(journal.state, crossing, outcome);
    const usage = late === null ? lateUsage(journal, crossing.intentId, outcome) : null;
    const draft = late ?? usage;
    if (draft !== null) journal.append(() => [draft]);
    hooks.budget.settle(
      crossing.view,
      admission.reservation,
      draft === null ? ZERO : outcome.settlement,
    );
  }

  #record(outcome: Outcome): void {
    const { journal, workspace } = this.#deps;
    try {
      journal.append(() => [...outcome.drafts, ...toFileDrafts(workspace, outcome)]);
    } catch (error) {
      // Two tools of one round may have staged what only one of them has room for: the loser's call fails, not the run.
      if (outcome.without === null || !isWorkspaceRefusal(error)) throw error;
      const { without } = outcome;
      journal.append(() => without(error));
    }
  }
}

/** A tool that wants a person gets one whatever the policy says: a hook can ask for more, never for less (T10). */
function needsPerson(view: EffectView, { allow }: Allowed | Asked): boolean {
  return allow === "ask" || (view.kind === "tool" && view.pin.approval !== "never");
}

function toHookDrafts(answer: Allowed | Asked | Reserved): readonly ThreadDraft[] {
  return "drafts" in answer ? (answer.drafts ?? []) : [];
}

function toDrafts(crossing: Crossing, decision: Decision | undefined): readonly ThreadDraft[] {
  if (decision === undefined) return [];
  if (decision.admitted === "asked") return decision.drafts;
  return decision.admitted
    ? [...decision.admission.drafts, crossing.intent(decision.admission)]
    : crossing.refuse(decision.refusal, decision.budget);
}

function toFileDrafts(
  workspace: Pick<WorkspaceStore, "commit">,
  outcome: Outcome,
): readonly ThreadDraft[] {
  if (outcome.changes.length === 0) return [];
  const scope = outcome.drafts[0]?.scope ?? {};
  return workspace.commit(outcome.changes).map((change): ThreadDraft =>
    change.type === "written"
      ? {
          type: "file.written",
          payload: { path: change.path, digest: change.digest, bytes: change.bytes },
          scope: toFileScope(scope),
        }
      : { type: "file.deleted", payload: { path: change.path }, scope: toFileScope(scope) },
  );
}

function toFileScope(scope: NonNullable<ThreadDraft["scope"]>): NonNullable<ThreadDraft["scope"]> {
  return { ...scope, costMicros: null, costKind: null, priceVersion: null };
}

function isWorkspaceRefusal(error: unknown): boolean {
  return (
    isAppError(error) &&
    ["workspace_full", "file_too_large", "file_path_invalid"].includes(error.code)
  );
}

export function isIntentOpen(state: ThreadState, intentId: string): boolean {
  const phase = state.run?.phase;
  if (phase?.type === "model_open") return phase.intent.intentId === intentId;
  if (phase?.type !== "tools") return false;
  return phase.calls.some((call) => call.status === "open" && call.intent?.intentId === intentId);
}

function toLate(state: ThreadState, crossing: Crossing, outcome: Outcome): ThreadDraft | null {
  const { view, intentId } = crossing;
  if (outcome.late === null || !state.abandoned.some((call) => call.intentId === intentId))
    return null;
  const { runId, step, attempt } = view;
  const call = view.kind === "tool" ? view.callId : null;
  return {
    type: "tool.late",
    payload: { result: outcome.late },
    scope: { run: runId, step, call, attempt, cause: intentId },
  };
}
