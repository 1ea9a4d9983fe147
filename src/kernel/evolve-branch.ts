/** A change of the branch: another window takes the place of the one that was left (K42 to K44). */
import { fromKept } from "./branch.ts";
import { corrupt } from "./evolve-run.ts";
import type { EventOf } from "./evolve-window.ts";
import { pinOf, type QueuedInput, type ThreadState } from "./state.ts";

type BranchEvent = EventOf<"branch.started" | "branch.selected">;

export function evolveBranch(state: ThreadState, event: BranchEvent): ThreadState {
  const { payload, header } = event;
  if (payload === null) return corrupt("payload_missing", event);
  if (state.run !== null || state.queue.length > 0) return corrupt("run_already_live", event);
  if (payload.previous !== state.branch.seq || payload.branch === state.branch.id)
    return corrupt("branch_unexpected", event);
  const again = event.type === "branch.started" ? toInput(state, event) : null;
  return {
    ...state,
    branch: { id: payload.branch, seq: header.seq },
    window: fromKept(payload.window),
    plan: [],
    planSeq: null,
    pendingPlan: null,
    queue: again === null ? [] : [again],
  };
}

/** The input that is answered once more waits for its run like any other. */
function toInput(state: ThreadState, event: EventOf<"branch.started">): QueuedInput | null {
  const again = event.payload?.again ?? null;
  if (again === null) return null;
  const { run: runId, definition, seq } = event.header;
  if (runId === null || definition === null) return corrupt("run_unnamed", event);
  if (pinOf(state, definition) === null) return corrupt("definition_not_pinned", event);
  if (again.seq >= seq) return corrupt("input_unknown", event);
  // Its message id is not looked up here: a repeated id is found in the host's table (K2).
  return { ...again, messageId: "", runId, definition };
}
