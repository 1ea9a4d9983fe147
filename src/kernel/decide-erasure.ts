/**
 * Decisions on erasures (H30, H31). What is erased, and where, is the host's; the log holds who asked and what came of it.
 */
import { err, ok } from "#shared/result.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { ThreadCommand, Decided } from "./commands.ts";
import type { ThreadState } from "./state.ts";

type CommandOf<T extends ThreadCommand["type"]> = Extract<ThreadCommand, { readonly type: T }>;

/** A live run still builds on its payloads: it is cancelled first, by whoever may say so. */
export function requestErasure(
  state: ThreadState,
  { runId, origin }: CommandOf<"request_erasure">,
  actor: EventScope,
): Decided {
  const receipt = { runId, messageId: null, disposition: "recorded" } as const;
  const { erasure } = state;
  if (erasure !== null) {
    return erasure.runId === runId
      ? ok({ drafts: [], receipt: { ...receipt, disposition: "unchanged" } })
      : err({ reason: "erasure_active", erasureId: erasure.id });
  }
  const live = [state.run, ...state.queue].find(
    (run) => run !== null && (runId === null || run.runId === runId),
  );
  if (live !== undefined && live !== null) return err({ reason: "run_active", runId: live.runId });
  const target = runId === null ? "thread" : "run";
  return ok({
    drafts: [
      {
        type: "erasure.requested",
        payload: { target, owner: state.owner ?? "", origin },
        scope: runId === null ? actor : { ...actor, run: runId },
      },
    ],
    receipt,
  });
}

export function completeErasure(
  state: ThreadState,
  { erasureId, stores, wiped, kept }: CommandOf<"complete_erasure">,
  actor: EventScope,
): Decided {
  const { erasure } = state;
  const receipt = { runId: erasure?.runId ?? null, messageId: null } as const;
  // Completed by an earlier process whose answer was lost.
  if (erasure?.id !== erasureId)
    return ok({ drafts: [], receipt: { ...receipt, disposition: "unchanged" } });
  const { target, runId } = erasure;
  const scope = { ...actor, cause: erasureId, ...(runId === null ? {} : { run: runId }) };
  return ok({
    drafts: [{ type: "erasure.completed", payload: { target, stores, wiped, kept }, scope }],
    receipt: { ...receipt, disposition: "recorded" },
  });
}
