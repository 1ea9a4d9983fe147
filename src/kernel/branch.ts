/**
 * Branches: the windows that a conversation had, as events hold them and as they are restored (K42 to K44).
 *
 * State knows the active branch only. What another one needs lies in the event by which it was left, so that state does
 * not grow with the number of branches (K13).
 */
import type { PlanItem } from "#ports/tool.ts";
import type { BranchRun, KeptWindow } from "./commands.ts";
import type { KeptEntry, PromptRef, ThreadDraft, ThreadEvent, ThreadEvents } from "./events.ts";
import { toAnswerEntry, toEntry } from "./evolve-window.ts";
import { contextText, ERASED_TEXT, refusalText, resultText, userText } from "./prompt-text.ts";
import type { ThreadState, WindowEntry } from "./state.ts";
import { estimateTokens } from "./tokens.ts";
import { withCut } from "./window.ts";

export const MAIN_BRANCH = "main";

const KINDS = ["user", "assistant", "result", "context"] as const;
const CODES = { user: 0, assistant: 1, result: 2, context: 3 } as const;
type ReadEvent = (seq: number) => ThreadEvent | null;
type Left = Pick<ThreadEvents["branch.selected"], "left" | "leftPlan">;

export function toKept(entries: readonly WindowEntry[]): readonly KeptEntry[] {
  return entries.map(({ ref, kind, tokens, chars, unit }) => [
    ref[0],
    ref[2],
    CODES[kind],
    tokens,
    chars,
    unit,
  ]);
}

export function fromKept(kept: readonly KeptEntry[]): readonly WindowEntry[] {
  return kept.map(([seq, cut, kind, tokens, chars, unit]) => ({
    ref: [seq, 0, cut],
    kind: KINDS[kind],
    tokens,
    chars,
    unit,
  }));
}

/** The window that references of a recorded request stand for, weighed again. Null when an event is missing. */
export function readWindow(refs: readonly PromptRef[], read: ReadEvent): KeptWindow | null {
  const entries: WindowEntry[] = [];
  let plan: readonly PlanItem[] = [];
  let step = 0;
  for (const ref of refs) {
    const event = read(ref[0]);
    if (event === null) return null;
    if (event.type === "plan.updated") {
      plan = event.payload?.items ?? [];
      continue;
    }
    const entry = toWindowEntry(event, step);
    if (entry === null) return null;
    if (entry.kind === "assistant") step = ref[0];
    entries.push(withCut(entry, ref[2]));
  }
  return { entries, plan };
}

/** `step` is the seq of the answer before: results belong to it. */
function toWindowEntry(event: ThreadEvent, step: number): WindowEntry | null {
  const { seq } = event.header;
  switch (event.type) {
    case "input.received":
      return toEntry("user", seq, userText(event.payload));
    case "context.added":
      return toEntry("context", seq, contextText(event.payload));
    case "model.answered":
      return event.payload === null
        ? toEntry("assistant", seq, ERASED_TEXT)
        : toAnswerEntry(seq, event.payload.parts);
    case "tool.finished":
      return { ...toEntry("result", seq, resultText(event.payload)), unit: step };
    case "tool.refused":
      return { ...toEntry("result", seq, refusalText(event.payload)), unit: step };
    default:
      return null;
  }
}

/** The window that a branch was left with. */
export function leftWindow({ left, leftPlan }: Left, read: ReadEvent): KeptWindow {
  const entries = fromKept(left).filter((entry) => entry.ref[0] !== leftPlan);
  const event = leftPlan === null ? null : read(leftPlan);
  const plan = event?.type === "plan.updated" ? (event.payload?.items ?? []) : [];
  return { entries, plan };
}

/** What a change of branch records of the one that is left. */
export function leave({ branch, window, planSeq }: ThreadState): Left & {
  readonly previous: number | null;
} {
  return { previous: branch.seq, left: toKept(window), leftPlan: planSeq };
}

export function againOf(run: BranchRun | null): ThreadEvents["branch.started"]["again"] {
  if (run === null || run.seq === null) return null;
  const { seq, output, text } = run;
  return { seq, output, tokens: estimateTokens(text), chars: text.length };
}

/** The plan enters the new window as an event of its own, so that its words can be erased (K12, L4). */
export function repeatPlan(plan: readonly PlanItem[], actor: string): readonly ThreadDraft[] {
  return plan.length === 0
    ? []
    : [{ type: "plan.updated", payload: { items: plan }, scope: { actor } }];
}
