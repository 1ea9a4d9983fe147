/** Model attempts and their outcomes (G1, K5, K6, K10). */
import type { ModelErrorCode } from "#ports/model.ts";
import type { ToolEffect } from "#ports/tool.ts";
import type { AnswerPart, RunFailure, ThreadEvents } from "./events.ts";
import {
  clearRecovery,
  corrupt,
  countRecovery,
  isDue,
  requireLiveRun,
  settle,
  withInputs,
} from "./evolve-run.ts";
import { chargeLease, correctLease } from "./evolve-leases.ts";
import { type EventOf, pushEntries, settlePlan, toAnswerEntry, toEntry } from "./evolve-window.ts";
import { addCall, digestCall, FRESH_LOOP, type LoopState } from "./loop-guard.ts";
import { ERASED_TEXT } from "./prompt-text.ts";
import {
  type AnswerSummary,
  type CallState,
  pinOf,
  type RunPhase,
  type RunState,
  type ThreadState,
  type WindowEntry,
} from "./state.ts";
import { resolveRefs, selectEntries, windowTokens } from "./window.ts";

type ModelEvent = EventOf<
  "model.requested" | "model.answered" | "model.failed" | "model.interrupted" | "route.changed"
>;
/** Issues are shown to the model again; more of them, or longer ones, do not help it. */
const MAX_ISSUES = 5;
const MAX_ISSUE_CHARS = 300;

export function evolveModel(state: ThreadState, event: ModelEvent): ThreadState {
  const run = requireLiveRun(state, event);
  if (event.type === "model.requested") return openAttempt(state, run, event);
  if (event.type === "route.changed") return changeRoute(state, run, event);
  if (run.phase.type !== "model_open") return corrupt("intent_not_open", event);
  if (event.header.cause !== run.phase.intent.intentId) return corrupt("intent_not_open", event);
  const charged = { ...state, lease: chargeLease(state.lease, run.phase.intent, event) };
  return closeAttempt(charged, run, event);
}

function closeAttempt(
  state: ThreadState,
  run: RunState,
  event: EventOf<"model.answered" | "model.failed" | "model.interrupted">,
): ThreadState {
  switch (event.type) {
    case "model.answered":
      return answered(state, run, event);
    case "model.failed":
      return { ...state, run: failed(state, settle(run, event), event) };
    case "model.interrupted": {
      const next = countRecovery(settle(run, event), event.header.epoch);
      return {
        ...state,
        run: { ...next, attempts: run.attempts + 1, interrupted: true, phase: { type: "ready" } },
      };
    }
  }
}

/** No attempt was made, so nothing is counted: the step is due on the next route. */
function changeRoute(
  state: ThreadState,
  run: RunState,
  event: EventOf<"route.changed">,
): ThreadState {
  const fallbacks = pinOf(state, run.definition)?.manifest.fallbacks ?? [];
  if (!isDue(run)) return corrupt("phase_unexpected", event);
  if (run.fallback >= fallbacks.length) return corrupt("phase_unexpected", event);
  return { ...state, run: { ...run, fallback: run.fallback + 1, failures: 0 } };
}

function openAttempt(
  state: ThreadState,
  run: RunState,
  event: EventOf<"model.requested">,
): ThreadState {
  const { header, payload } = event;
  if (payload === null) return corrupt("payload_missing", event);
  if (!isDue(run)) return corrupt("phase_unexpected", event);
  if (run.cancel !== null) return corrupt("phase_unexpected", event);
  if (header.step !== run.step + 1) return corrupt("step_unexpected", event);
  if (header.attempt !== run.attempts + 1) return corrupt("attempt_unexpected", event);
  const steered = run.steering.filter((input) => payload.steered.includes(input.seq));
  if (steered.length !== payload.steered.length) return corrupt("input_unknown", event);
  const refs = resolveRefs(payload.refs, state.lastRequest);
  const entries = refs === null ? null : selectEntries(withInputs(state.window, steered), refs);
  if (refs === null || entries === null) return corrupt("refs_unknown", event);
  const intent = {
    intentId: header.id,
    seq: header.seq,
    epoch: header.epoch,
    attempt: header.attempt,
    reserved: payload.reservation,
    maxOutputTokens: payload.settings.maxOutputTokens,
    route: payload.route,
    priceVersion: header.priceVersion,
    at: header.at,
    leaseId: header.leaseId,
  };
  if (intent.leaseId !== null && intent.leaseId !== state.lease?.leaseId)
    return corrupt("lease_unexpected", event);
  const sinceFull = payload.refs.base === null ? 0 : (state.lastRequest?.sinceFull ?? 0) + 1;
  return {
    ...state,
    window: entries,
    lastRequest: { seq: header.seq, refs, sinceFull },
    // What somebody says is news, whatever the calls brought.
    loop: steered.length === 0 ? state.loop : FRESH_LOOP,
    run: {
      ...run,
      phase: { type: "model_open", intent },
      grant: null,
      steering:
        steered.length === 0
          ? run.steering
          : run.steering.filter((input) => !steered.includes(input)),
    },
  };
}

function answered(
  state: ThreadState,
  run: RunState,
  event: EventOf<"model.answered">,
): ThreadState {
  const { seq, step } = event.header;
  if (step !== run.step + 1) return corrupt("step_unexpected", event);
  const base: RunState = {
    ...clearRecovery(settle(run, event)),
    step,
    attempts: 0,
    failures: 0,
    interrupted: false,
  };
  if (event.payload === null) {
    const window = pushEntries(state, [toEntry("assistant", seq, ERASED_TEXT)]);
    return { ...state, window, run: { ...base, phase: { type: "erased", seq } } };
  }
  const { parts } = event.payload;
  const calls = toCalls(parts, effectsOf(state, run));
  if (new Set(calls.map((call) => call.callId)).size !== calls.length)
    return corrupt("call_id_repeated", event);
  const answer = summarise(seq, event.payload, calls.length);
  const phase: RunPhase =
    calls.length > 0 ? { type: "tools", answer, calls } : { type: "answered", answer };
  const next: RunState = { ...base, ...countOddities(run, answer, calls), phase };
  const entry = toAnswerEntry(seq, parts);
  const window = entry === null ? state.window : pushEntries(state, [entry]);
  return { ...state, window, run: answer.hasText ? { ...next, lastTextSeq: seq } : next };
}

type EffectOf = (tool: string) => ToolEffect;

/** A tool that is not pinned is never run. */
function effectsOf(state: ThreadState, run: RunState): EffectOf {
  const tools = pinOf(state, run.definition)?.manifest.tools ?? [];
  return (name) => tools.find((tool) => tool.name === name)?.effect ?? "once";
}

function toCalls(parts: readonly AnswerPart[], effectOf: EffectOf): readonly CallState[] {
  return parts.flatMap((part, argsPart): readonly CallState[] =>
    part.type !== "call"
      ? []
      : [
          {
            callId: part.callId,
            name: part.name,
            argsPart,
            digests: digestCall(part, effectOf(part.name)),
            refusal: part.refusal,
            status: "pending",
            next: "execute",
            attempts: 0,
            intent: null,
            key: null,
            approval: null,
            result: null,
          },
        ],
  );
}

function summarise(
  seq: number,
  payload: ThreadEvents["model.answered"],
  calls: number,
): AnswerSummary {
  const hasText = payload.parts.some((part) => part.type === "text" && part.text.trim() !== "");
  const check = payload.output;
  const issues =
    check === null || check.ok
      ? []
      : check.issues.slice(0, MAX_ISSUES).map((issue) => issue.slice(0, MAX_ISSUE_CHARS));
  return {
    seq,
    finish: payload.finish,
    hasText,
    calls,
    output: check === null ? null : { ok: check.ok, issues },
    textCall: payload.textCall ?? null,
  };
}

type Oddities = Pick<RunState, "emptyAnswers" | "truncatedAnswers" | "unknownToolSteps">;

function countOddities(
  run: RunState,
  answer: AnswerSummary,
  calls: readonly CallState[],
): Oddities {
  const isEmpty = answer.calls === 0 && !answer.hasText;
  const isTruncated = calls.some((call) => call.refusal?.code === "tool_args_truncated");
  const isUnknown =
    calls.length > 0 && calls.every((call) => call.refusal?.code === "unknown_tool");
  return {
    emptyAnswers: isEmpty ? run.emptyAnswers + 1 : 0,
    truncatedAnswers: isTruncated ? run.truncatedAnswers + 1 : 0,
    unknownToolSteps: isUnknown ? run.unknownToolSteps + 1 : 0,
  };
}

function failed(state: ThreadState, run: RunState, event: EventOf<"model.failed">): RunState {
  const next = {
    ...run,
    attempts: run.attempts + 1,
    // An attempt that a halt cut off did not fail (B11).
    failures: event.payload?.code === "aborted" ? run.failures : run.failures + 1,
    interrupted: false,
  };
  const { payload } = event;
  if (payload === null) return { ...next, phase: { type: "erased", seq: event.header.seq } };
  if (payload.retryAt !== null)
    return { ...next, phase: { type: "backoff", retryAt: payload.retryAt } };
  if (payload.code === "context_overflow" && run.windowCap === null)
    return {
      ...next,
      phase: { type: "ready" },
      windowCap: Math.floor(windowTokens(state.window) / 2),
    };
  const fallbacks = pinOf(state, run.definition)?.manifest.fallbacks ?? [];
  if (canFallBack(payload.code) && run.fallback < fallbacks.length)
    return { ...next, phase: { type: "ready" }, failures: 0, fallback: run.fallback + 1 };
  const message = `${payload.code}: ${payload.message}`.slice(0, 1_000);
  return { ...next, phase: { type: "failed", reason: toFailure(payload.code), message } };
}

/** What another route may do better: not a request that is wrong or too long anywhere, and not our own abort. */
function canFallBack(code: ModelErrorCode): boolean {
  return code !== "context_overflow" && code !== "invalid_request" && code !== "aborted";
}

function toFailure(code: ModelErrorCode): RunFailure {
  switch (code) {
    case "context_overflow":
      return "context_overflow";
    case "invalid_request":
    case "unauthorized":
      return "model_rejected";
    case "rate_limited":
    case "overloaded":
    case "unavailable":
      return "model_unavailable";
    case "timeout":
    case "stream_incomplete":
    case "stream_error":
    case "aborted":
      return "model_failed";
  }
}

/** A run that has ended keeps no sums here; its projection does. */
export function evolveUsage(state: ThreadState, event: EventOf<"usage.corrected">): ThreadState {
  const { run } = state;
  if (run === null || run.runId !== event.header.run || event.payload === null) return state;
  return { ...state, lease: correctLease(state.lease, event), run: settle(run, event) };
}

/** The round is over: results follow their calls in call order, then what waited for them (K7). */
export function closeRound(
  state: ThreadState,
  run: RunState,
  round: Extract<RunPhase, { type: "tools" }>,
): ThreadState {
  const results = round.calls.flatMap((call): readonly WindowEntry[] =>
    call.result === null
      ? []
      : [
          {
            ref: [call.result.seq, 0, 0],
            kind: "result",
            tokens: call.result.tokens,
            chars: call.result.chars,
            unit: round.answer.seq,
          },
        ],
  );
  const next = {
    ...state,
    loop: round.calls.reduce(addOutcome, state.loop),
    run: { ...run, phase: { type: "answered", answer: round.answer } as const },
  };
  return settlePlan({ ...next, window: pushEntries(next, results) });
}

/** In call order, whichever came back first. */
function addOutcome(loop: LoopState, { name, digests, result }: CallState): LoopState {
  if (result === null || result.digest === null) return loop;
  return addCall(loop, { tool: name, ...digests, result: result.digest });
}
