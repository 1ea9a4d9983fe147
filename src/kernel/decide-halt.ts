/**
 * An operator's stop and its end (B10, B11): one event each, and nothing but the second undoes the first.
 *
 * The live run stays as it is. A model attempt is closed with the halt and made again after the resume; tool calls that
 * are out settle by themselves, because a call that is cut off is a call of which nobody knows what it did.
 */
import { ok } from "#shared/result.ts";
import type { EventScope } from "#ports/event-log.ts";
import { lostAttempt, runScope } from "./closing.ts";
import type { Receipt, ThreadCommand, Decided } from "./commands.ts";
import type { ThreadDraft } from "./events.ts";
import type { RunState, ThreadState } from "./state.ts";

type CommandOf<T extends ThreadCommand["type"]> = Extract<ThreadCommand, { readonly type: T }>;

export function haltThread(
  { run, halt }: ThreadState,
  { reason, at }: CommandOf<"halt_thread">,
  actor: EventScope,
): Decided {
  if (halt !== null) return ok({ drafts: [], receipt: receipt(run, "unchanged") });
  const halted: ThreadDraft = { type: "thread.halted", payload: { reason }, scope: of(run, actor) };
  return ok({ drafts: [halted, ...cutOff(run, at)], receipt: receipt(run, "recorded") });
}

export function resumeThread(
  { run, halt }: ThreadState,
  { reason }: CommandOf<"resume_thread">,
  actor: EventScope,
): Decided {
  if (halt === null) return ok({ drafts: [], receipt: receipt(run, "unchanged") });
  const drafts: readonly ThreadDraft[] = [
    { type: "thread.resumed", payload: { reason }, scope: of(run, actor) },
  ];
  return ok({ drafts, receipt: receipt(run, "recorded") });
}

/** The open model attempt: spent as far as anybody can know, and due again at once. */
function cutOff(run: RunState | null, at: number): readonly ThreadDraft[] {
  const lost = run === null ? null : lostAttempt(run);
  if (lost === null) return [];
  const payload = {
    code: "aborted",
    message: "the thread was halted",
    partial: "",
    retryAt: at,
    settlement: lost.settlement,
  } as const;
  return [{ type: "model.failed", payload, scope: lost.scope }];
}

function of(run: RunState | null, actor: EventScope): EventScope {
  return run === null ? actor : { ...actor, ...runScope(run) };
}

function receipt(run: RunState | null, disposition: Receipt["disposition"]): Omit<Receipt, "seq"> {
  return { runId: run?.runId ?? null, messageId: null, disposition };
}
