/**
 * Commands on branches: another answer, another text, an empty window, a branch chosen again (K41 to K44).
 *
 * Where a branch begins is read from the log by the host and comes with the command. None of it while a run is live: a
 * run ends in the branch it began in.
 */
import { err, ok } from "#shared/result.ts";
import type { EventScope } from "#ports/event-log.ts";
import { againOf, leave, repeatPlan, toKept } from "./branch.ts";
import type { BranchRun, Receipt, ThreadCommand, Decided } from "./commands.ts";
import type { ThreadDraft } from "./events.ts";
import { isBlank } from "./prompt-text.ts";
import { pinOf, type ThreadState } from "./state.ts";

type CommandOf<T extends ThreadCommand["type"]> = Extract<ThreadCommand, { readonly type: T }>;

export function startBranch(
  state: ThreadState,
  { branch, reason, point, run }: CommandOf<"start_branch">,
  actor: string,
): Decided {
  const busy = activeRun(state);
  if (busy !== null) return err({ reason: "run_active", runId: busy });
  if (run !== null && state.halt !== null)
    return err({ reason: "thread_halted", since: state.halt.at });
  if (run !== null && isBlank(run.text)) return err({ reason: "message_empty" });
  const scope = { actor, ...(run === null ? {} : scopeOf(run)) };
  const { parent, keepTo, without, entries, plan } = point;
  const window = toKept(entries);
  const payload = { branch, parent, reason, keepTo, without, ...leave(state), window };
  const drafts: ThreadDraft[] = [
    ...pinned(state, run),
    { type: "branch.started", payload: { ...payload, again: againOf(run) }, scope },
    ...repeatPlan(plan, actor),
  ];
  if (run === null) return ok({ drafts, receipt: toReceipt(branch, null) });
  if (run.seq === null) {
    const { messageId, text, output } = run;
    const input = { messageId, text, delivery: "queue", output } as const;
    drafts.push({ type: "input.received", payload: input, scope });
  }
  const inputs = [run.seq ?? state.seq + drafts.length];
  drafts.push({ type: "run.started", payload: { inputs }, scope: scopeOf(run) });
  return ok({ drafts, receipt: toReceipt(branch, run) });
}

export function selectBranch(
  state: ThreadState,
  { branch, window }: CommandOf<"select_branch">,
  actor: string,
): Decided {
  const busy = activeRun(state);
  if (busy !== null) return err({ reason: "run_active", runId: busy });
  if (branch === state.branch.id)
    return ok({ drafts: [], receipt: { ...toReceipt(branch, null), disposition: "unchanged" } });
  const payload = { branch, ...leave(state), window: toKept(window.entries) };
  const drafts: ThreadDraft[] = [
    { type: "branch.selected", payload, scope: { actor } },
    ...repeatPlan(window.plan, actor),
  ];
  return ok({ drafts, receipt: toReceipt(branch, null) });
}

function activeRun({ run, queue }: ThreadState): string | null {
  return run?.runId ?? queue[0]?.runId ?? null;
}

function scopeOf({ runId, definition }: BranchRun): EventScope {
  return { run: runId, definition };
}

function pinned(state: ThreadState, run: BranchRun | null): readonly ThreadDraft[] {
  if (run === null || pinOf(state, run.definition) !== null) return [];
  const { manifest, definition } = run;
  return [{ type: "definition.pinned", payload: { manifest }, scope: { definition } }];
}

function toReceipt(branch: string, run: BranchRun | null): Omit<Receipt, "seq"> {
  const { runId, messageId } = run ?? { runId: null, messageId: null };
  return { runId, messageId, disposition: run === null ? "recorded" : "started", branch };
}
