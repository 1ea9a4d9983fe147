/** Which events change how a run stands. */
import type { ThreadEventType } from "./events.ts";

const ENDS = [
  "run.completed",
  "run.failed",
  "run.cancelled",
] as const satisfies readonly ThreadEventType[];

export const RUN_ENDS: ReadonlySet<(typeof ENDS)[number]> = new Set(ENDS);
/** After any of them a run that has begun stands otherwise. */
export const RUN_CHANGES = [
  "run.started",
  "approval.requested",
  "approval.decided",
  ...ENDS,
] as const satisfies readonly ThreadEventType[];

export function isRunEnd(type: string): boolean {
  return ENDS.some((end) => end === type);
}
