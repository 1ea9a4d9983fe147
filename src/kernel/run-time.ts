/**
 * How long a run has worked, and until when it may (B57).
 *
 * Time goes by from its start to its end, through retries, deploys and crashes, and stands still while nothing but a person
 * moves the run: a call or question that waits, a budget that asks, a halt. It follows from the times of events alone, so
 * every process counts the same.
 */
import type { Effect } from "./effects.ts";
import type { RunLimits } from "./manifest.ts";
import { isWaitingForHumans, type RunState, type ThreadState } from "./state.ts";

/** The state with the run's clock started or stopped, as of an event at `at`. The same one where nothing changes. */
export function keepTime(state: ThreadState, at: number): ThreadState {
  const { run, halt } = state;
  if (run === null) return state;
  const { since, workedMs } = run.clock;
  const works = halt === null && !isWaitingForHumans(run);
  if (works === (since !== null)) return state;
  const clock =
    since === null
      ? { workedMs, since: at }
      : { workedMs: workedMs + Math.max(0, at - since), since: null };
  return { ...state, run: { ...run, clock } };
}

/** Epoch ms; infinity where the agent sets no limit, or the clock stands still. */
export function deadlineOf({ clock }: RunState, { maxWallMs = null }: RunLimits): number {
  if (maxWallMs === null || clock.since === null) return Infinity;
  return clock.since + Math.max(0, maxWallMs - clock.workedMs);
}

/** What only has to be written down is done at any time: an answer that came in time is not thrown away for it. */
export function isOutside(effects: readonly Effect[]): boolean {
  return !effects.some(({ type }) => type === "record" || type === "complete_run");
}

/** The effects, and one time to look again: theirs, or the deadline when it comes first. */
export function withDeadline(effects: readonly Effect[], deadline: number): readonly Effect[] {
  if (deadline === Infinity) return effects;
  const waits = effects.flatMap((effect) => (effect.type === "wait_until" ? [effect.at] : []));
  const others = effects.filter(({ type }) => type !== "wait_until");
  return [...others, { type: "wait_until", at: Math.min(deadline, ...waits) }];
}
