/**
 * What of its history a thread still uses (H41): the oldest event that state, window, plan, newest request or any branch
 * names. Below it nothing is read again but by a person who looks back.
 */
import type { ThreadEvent } from "./events.ts";
import type { ThreadState } from "./state.ts";

/** The first seq that must stay; infinity when none is named. Reads the branch events, of which there are few. */
export function firstNeeded(
  state: ThreadState,
  eventAt: (seq: number) => ThreadEvent | null,
): number {
  const needed = state.window.map(({ ref }) => ref[0]);
  if (state.planSeq !== null) needed.push(state.planSeq);
  if (state.lastRequest !== null)
    needed.push(state.lastRequest.seq, ...state.lastRequest.refs.map(([seq]) => seq));
  for (let seq = state.branch.seq; seq !== null;) {
    needed.push(seq);
    const event = eventAt(seq);
    if (event?.type !== "branch.started" && event?.type !== "branch.selected") break;
    const { payload } = event;
    if (payload === null) break;
    needed.push(...[...payload.left, ...payload.window].map(([named]) => named));
    seq = payload.previous;
  }
  return needed.reduce((least, seq) => Math.min(least, seq), Infinity);
}
