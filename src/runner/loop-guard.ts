/**
 * The loop guard as a hook of the gate: what one answer may start at once (B5).
 *
 * What calls have brought is judged by the kernel when a round closes, in the append of its last outcome (J2): a warning
 * has to be an event before the prompt that shows it. Here only calls are refused whose equals have not come back yet.
 */
import { refuseRepeat } from "#kernel/loop-guard.ts";
import { pinOf } from "#kernel/state.ts";
import type { Refusal } from "#kernel/events.ts";
import type { LoopGuardHook, ToolView } from "./gate-hooks.ts";

export const LOOP_GUARD: LoopGuardHook = {
  check(view) {
    const refusal = view.kind === "tool" ? refuse(view) : null;
    return refusal === null ? { allow: true, verdict: "pass" } : { allow: false, refusal };
  },
};

/** Another attempt of a call is not another call. */
function refuse({ state, callId, attempt }: ToolView): Refusal | null {
  const { run } = state;
  if (attempt > 1 || run?.phase.type !== "tools") return null;
  const pin = pinOf(state, run.definition);
  const { calls } = run.phase;
  const index = calls.findIndex((call) => call.callId === callId);
  const call = calls[index];
  if (call === undefined || pin === null) return null;
  const { name, digests } = call;
  const before = calls
    .slice(0, index)
    .filter((other) => other.name === name && other.digests.args === digests.args).length;
  const asked = { tool: name, args: digests.args };
  return refuseRepeat(state.loop, asked, { before, manifest: pin.manifest });
}
