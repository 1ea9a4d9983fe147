/**
 * Erasures (H30). From the request on, the state of an erased thread holds nothing that was said in it, so that a snapshot
 * taken now is one that may stay.
 */
import { corrupt } from "./evolve-run.ts";
import { quietSchedules } from "./schedules.ts";
import type { EventOf } from "./evolve-window.ts";
import type { ThreadState } from "./state.ts";

export function evolveErasure(
  state: ThreadState,
  event: EventOf<"erasure.requested" | "erasure.completed">,
): ThreadState {
  if (event.type === "erasure.completed") {
    if (state.erasure?.id !== event.header.cause) return corrupt("phase_unexpected", event);
    return { ...state, erasure: null };
  }
  if (event.payload === null) return corrupt("payload_missing", event);
  if (state.erasure !== null) return corrupt("phase_unexpected", event);
  const { target, owner } = event.payload;
  const { id, seq, run: runId } = event.header;
  const next = { ...state, erasure: { id, seq, target, runId } };
  if (target === "run") return next;
  if (state.run !== null) return corrupt("phase_unexpected", event);
  return {
    ...next,
    owner,
    title: null,
    shared: null,
    window: [],
    lastRequest: null,
    plan: [],
    planSeq: null,
    pendingPlan: null,
    schedules: quietSchedules(state.schedules),
  };
}
