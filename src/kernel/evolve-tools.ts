/**
 * Tool calls of a step (G1, K7): each has one result, and each intent one outcome.
 *
 * `tool.finished` and `tool.interrupted` answer an open intent; `tool.refused` closes a call that has none.
 */
import { invariant } from "#shared/exhaustive.ts";
import type { ThreadEvent } from "./events.ts";
import { closeRound } from "./evolve-model.ts";
import { clearRecovery, corrupt, countRecovery, requireLiveRun, settle } from "./evolve-run.ts";
import { type EventOf, pushEntries, toEntry } from "./evolve-window.ts";
import { digestRefusal, digestResult } from "./loop-guard.ts";
import { ERASED_TEXT, refusalText, resultText } from "./prompt-text.ts";
import type { CallState, RunPhase, RunState, ThreadState } from "./state.ts";
import { estimateTokens } from "./tokens.ts";

type Round = Extract<RunPhase, { type: "tools" }>;
type Started = EventOf<"tool.started">;
type Finished = EventOf<"tool.finished">;
type Refused = EventOf<"tool.refused">;
type Interrupted = EventOf<"tool.interrupted">;
type Late = EventOf<"tool.late">;

/** Late results are rare and their callers do not live long. */
const MAX_ABANDONED = 64;

export function evolveTool(
  state: ThreadState,
  event: Started | Finished | Refused | Interrupted | Late,
): ThreadState {
  if (event.type === "tool.late") return late(state, event);
  const run = requireLiveRun(state, event);
  if (run.phase.type === "erased") return inErasedRound(state, settle(run, event), event);
  if (run.phase.type !== "tools") return corrupt("call_unknown", event);
  const call = run.phase.calls.find((item) => item.callId === event.header.call);
  if (call === undefined) return corrupt("call_unknown", event);
  if (event.header.step !== run.step) return corrupt("step_unexpected", event);
  switch (event.type) {
    case "tool.started":
      return replaceCall(state, countStart(run, call), started(run, call, event));
    case "tool.interrupted": {
      const intent = requireOpen(call, event);
      const { next } = event.payload ?? corrupt("payload_missing", event);
      // Closed by the epoch that opened it, the process lived: a check found that nothing had happened (G8).
      const hasDied = event.header.epoch > intent.epoch;
      const interrupted: CallState = {
        ...call,
        status: "interrupted",
        next: next === "check" ? "check" : "execute",
        intent: null,
      };
      return replaceCall(
        state,
        hasDied ? countRecovery(run, event.header.epoch) : run,
        interrupted,
      );
    }
    case "tool.finished":
      return finished(state, run, { call, event });
    case "tool.refused":
      if (call.status !== "pending" && call.status !== "interrupted")
        return corrupt("call_already_started", event);
      return replaceCall(state, run, refused(call, event));
  }
}

/**
 * The answer that made these calls was erased, so their order is not known here. Later requests name the results, and
 * name their order; the compiler leaves them out, as their calls are not shown (K8).
 */
function inErasedRound(
  state: ThreadState,
  run: RunState,
  event: Started | Finished | Refused | Interrupted,
): ThreadState {
  if (
    run.phase.type !== "erased" ||
    (event.type !== "tool.finished" && event.type !== "tool.refused")
  )
    return { ...state, run };
  const entry = toEntry("result", event.header.seq, ERASED_TEXT);
  return { ...state, run, window: pushEntries(state, [{ ...entry, unit: run.phase.seq }]) };
}

function started(run: RunState, call: CallState, event: Started): CallState {
  const { header, payload } = event;
  if (call.status !== "pending" && call.status !== "interrupted")
    return corrupt("call_already_started", event);
  if (call.refusal !== null || run.cancel !== null) return corrupt("phase_unexpected", event);
  if (header.attempt !== call.attempts + 1) return corrupt("attempt_unexpected", event);
  const key = payload?.idempotencyKey ?? call.key;
  if (call.key !== null && key !== call.key) return corrupt("idempotency_key_changed", event);
  // Without its payload the effect is unknown, so recovery takes the careful one.
  const effect = payload?.effect ?? "once";
  return {
    ...call,
    status: "open",
    attempts: header.attempt,
    key,
    intent: { intentId: header.id, seq: header.seq, epoch: header.epoch, effect },
  };
}

function countStart(run: RunState, call: CallState): RunState {
  if (call.attempts > 0) return run;
  const used = Object.hasOwn(run.callsPerTool, call.name) ? (run.callsPerTool[call.name] ?? 0) : 0;
  return { ...run, callsPerTool: { ...run.callsPerTool, [call.name]: used + 1 } };
}

function finished(
  state: ThreadState,
  run: RunState,
  { call, event }: { readonly call: CallState; readonly event: Finished },
): ThreadState {
  const open = requireOpen(call, event);
  const settled = settle(run, event);
  const status = event.payload?.result.status;
  const isProgress = status !== "unknown" && status !== "cancelled";
  const digest = event.payload === null ? null : digestResult(event.payload.result);
  const next = closed(call, event, { text: resultText(event.payload), digest });
  const after = replaceCall(state, isProgress ? clearRecovery(settled) : settled, next);
  if (status !== "cancelled") return after;
  const left = { callId: call.callId, intentId: open.intentId, runId: run.runId, step: run.step };
  return { ...after, abandoned: [...after.abandoned, left].slice(-MAX_ABANDONED) };
}

function requireOpen(
  call: CallState,
  event: Finished | Interrupted,
): NonNullable<CallState["intent"]> {
  if (call.intent === null) return corrupt("call_not_open", event);
  if (call.intent.intentId !== event.header.cause) return corrupt("intent_not_open", event);
  return call.intent;
}

function refused(call: CallState, event: Refused): CallState {
  const refusal = event.payload?.refusal ?? null;
  const isGuard = refusal === null || refusal.code === "loop_guard";
  const digest = isGuard ? null : digestRefusal(refusal);
  return closed(call, event, { text: refusalText(event.payload), digest });
}

function closed(
  call: CallState,
  event: ThreadEvent,
  { text, digest }: { readonly text: string; readonly digest: string | null },
): CallState {
  const { seq } = event.header;
  const result = { seq, tokens: estimateTokens(text), chars: text.length, digest };
  return { ...call, status: "closed", intent: null, refusal: null, result };
}

export function replaceCall(state: ThreadState, run: RunState, call: CallState): ThreadState {
  const round = run.phase;
  invariant(round.type === "tools", "only a call of the round at hand is replaced");
  const calls = round.calls.map((item) => (item.callId === call.callId ? call : item));
  const phase: Round = { ...round, calls };
  if (calls.every((item) => item.status === "closed")) return closeRound(state, run, phase);
  return { ...state, run: { ...run, phase } };
}

function late(state: ThreadState, event: Late): ThreadState {
  if (event.header.run === null || event.header.call === null) return corrupt("run_unnamed", event);
  const abandoned = state.abandoned.filter((item) => item.callId !== event.header.call);
  return abandoned.length === state.abandoned.length ? state : { ...state, abandoned };
}
