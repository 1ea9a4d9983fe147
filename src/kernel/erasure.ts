/** What may be erased without taking a thread's structure with it (L4, K14). */
import type { ThreadEventType } from "./events.ts";
import type { ThreadState } from "./state.ts";

/**
 * Events that a thread cannot be folded without. They hold no texts of a person, so nothing that must be forgotten is
 * kept by refusing to erase them.
 */
const STRUCTURAL: ReadonlySet<ThreadEventType> = new Set([
  "definition.pinned",
  "run.started",
  "model.requested",
  "model.interrupted",
  "tool.interrupted",
  "usage.corrected",
  "branch.started",
  "branch.selected",
  "erasure.requested",
  "erasure.completed",
  "lease.granted",
  "lease.closed",
  "lease.declined",
  "route.changed",
  "schedule.declared",
  "schedule.paused",
  "schedule.fired",
  "schedule.deleted",
]);

export function isErasable(type: ThreadEventType): boolean {
  return !STRUCTURAL.has(type);
}

/**
 * Whether a host may erase this event now. Of a live run only the input is erased at once: its answers and intents
 * still decide what happens next, and its keys keep effects from happening twice (G7).
 */
export function canErase(
  state: ThreadState,
  event: { readonly seq: number; readonly type: ThreadEventType },
): boolean {
  if (!isErasable(event.type)) return false;
  return state.run === null || event.seq < state.run.startedSeq || event.type === "input.received";
}
