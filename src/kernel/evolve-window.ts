/** What enters the window, and where: texts of the runtime and the plan (K12, K19). */
import type { StoredEvent } from "#ports/event-log.ts";
import type { ThreadEvents } from "./events.ts";
import { contextText, planText } from "./prompt-text.ts";
import type { RunState, ThreadState, WindowEntry } from "./state.ts";
import { estimateTokens } from "./tokens.ts";
import { MAX_ENTRIES, trimWindow } from "./window.ts";

export type EventOf<T extends keyof ThreadEvents> = Extract<
  StoredEvent<ThreadEvents>,
  { readonly type: T }
>;

export function toEntry(kind: WindowEntry["kind"], seq: number, text: string): WindowEntry {
  return { ref: [seq, 0, 0], kind, tokens: estimateTokens(text), chars: text.length, unit: seq };
}

/**
 * Appends, and keeps the window bounded where no request trims it: threads whose every run fails or is cancelled.
 * Twice the most that a request keeps, so that this never competes with trimming to the budget.
 */
export function pushEntries(
  state: ThreadState,
  entries: readonly WindowEntry[],
): readonly WindowEntry[] {
  if (entries.length === 0) return state.window;
  const window = state.window.concat(entries);
  if (window.length <= 2 * MAX_ENTRIES) return window;
  return trimWindow(window, { budget: Number.MAX_SAFE_INTEGER, planSeq: state.planSeq });
}

export function evolveContext(state: ThreadState, event: EventOf<"context.added">): ThreadState {
  const { run } = state;
  const window = pushEntries(state, [
    toEntry("context", event.header.seq, contextText(event.payload)),
  ]);
  const isRepair = event.payload?.kind === "repair";
  if (run === null || event.header.run !== run.runId || !isRepair) return { ...state, window };
  return { ...state, window, run: afterRepair(run) };
}

/** A repair is the verdict on the answer before it: the next step is due. */
function afterRepair(run: RunState): RunState {
  if (run.phase.type !== "answered") return run;
  return { ...run, repairs: run.repairs + 1, phase: { type: "ready" } };
}

/**
 * The newest plan stands once in the window. During a tool round it waits for the results, which follow their calls
 * directly (K7); `settlePlan` then puts it behind them.
 */
export function evolvePlan(state: ThreadState, event: EventOf<"plan.updated">): ThreadState {
  const { payload } = event;
  const items = payload?.items ?? [];
  const without =
    state.planSeq === null
      ? state.window
      : state.window.filter((entry) => entry.ref[0] !== state.planSeq);
  // An erased plan keeps its place: later requests may name it.
  if (payload !== null && items.length === 0)
    return { ...state, plan: [], planSeq: null, pendingPlan: null, window: without };
  const entry = toEntry("context", event.header.seq, planText(payload));
  const next = { ...state, plan: items, planSeq: event.header.seq, window: without };
  return state.run?.phase.type === "tools"
    ? { ...next, pendingPlan: entry }
    : { ...next, pendingPlan: null, window: pushEntries(next, [entry]) };
}

export function settlePlan(state: ThreadState): ThreadState {
  if (state.pendingPlan === null) return state;
  return { ...state, pendingPlan: null, window: pushEntries(state, [state.pendingPlan]) };
}
