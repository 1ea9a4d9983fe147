/**
 * What an opened thread takes up from the process before it. The decisions are the kernel's (an intent of an older epoch
 * shows as open, rules G6 to G9); what lies outside the log is wired here.
 */
import type { ThreadState } from "#kernel/state.ts";
import type { LiveText } from "./live-text.ts";

/** Stored live text of an attempt that was cut off stays readable until the attempt is closed, then `discard` follows. */
export function takeUpOpenAttempt(state: ThreadState, live: LiveText): void {
  const { run } = state;
  if (run?.phase.type !== "model_open") return;
  const { intentId, seq, attempt } = run.phase.intent;
  live.resume({ intentId, seq, runId: run.runId, step: run.step + 1, attempt });
}
