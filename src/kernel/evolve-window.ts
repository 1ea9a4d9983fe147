/** What enters the window, and where: texts of the runtime and the plan (K12, K19). */
import type { StoredEvent } from "#ports/event-log.ts";
import type { AnswerPart, ThreadEvents } from "./events.ts";
import { contextText, planText, shownParts } from "./prompt-text.ts";
import type { RunState, ThreadState, WindowEntry } from "./state.ts";
import { estimateTokens } from "./tokens.ts";
import { MAX_ENTRIES, trimWindow } from "./window.ts";

type ContextKind = ThreadEvents["context.added"]["kind"];
export type EventOf<T extends keyof ThreadEvents> = Extract<
  StoredEvent<ThreadEvents>,
  { readonly type: T }
>;

export function toEntry(kind: WindowEntry["kind"], seq: number, text: string): WindowEntry {
  return { ref: [seq, 0, 0], kind, tokens: estimateTokens(text), chars: text.length, unit: seq };
}

export function toAnswerEntry(seq: number, parts: readonly AnswerPart[]): WindowEntry | null {
  const shown = shownParts(parts);
  if (shown.length === 0) return null;
  let tokens = 0;
  let chars = 0;
  for (const part of shown) {
    const text = part.type === "call" ? `${part.name} ${part.argsText}` : part.text;
    tokens += estimateTokens(text);
    chars += text.length;
  }
  return { ref: [seq, 0, 0], kind: "assistant", tokens, chars, unit: seq };
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
  if (run === null || event.header.run !== run.runId) return { ...state, window };
  if (event.payload?.loop !== undefined) {
    const loop = { ...state.loop, warned: true };
    return { ...state, window, loop, run: afterVerdict(run, "warning") };
  }
  return { ...state, window, run: afterVerdict(run, event.payload?.kind) };
}

/** A repair, a reminder (K25) or a warning (B3) is the verdict on the answer before it: the next step is due. */
function afterVerdict(run: RunState, kind: ContextKind | "warning" | undefined): RunState {
  if (run.phase.type !== "answered") return run;
  if (kind === "warning") return { ...run, phase: { type: "ready" } };
  if (kind === "repair") return { ...run, repairs: run.repairs + 1, phase: { type: "ready" } };
  if (kind === "reminder") return { ...run, reminded: true, phase: { type: "ready" } };
  return run;
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
