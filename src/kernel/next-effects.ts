/**
 * nextEffects: the single place that says "what now". Pure, and the same for a first pass and for a recovery: what the
 * process did not survive shows as an intent of an older epoch.
 *
 * Effects that are in flight in this epoch yield nothing, so asking again is always safe; a start is yielded until its
 * intent is in the log. A step is one answer and its calls: at the step cap the calls of the last answer still run, then
 * the run ends (K5).
 */
import type { CompleteRun, Effect } from "./effects.ts";
import type { LoopReport, Reservation, RunFailure, RunFinish, ThreadDraft } from "./events.ts";
import { closeAsking, closeForCancel, closeForDeadline, lostAttempt, runScope } from "./closing.ts";
import { withInputs } from "./evolve-run.ts";
import { inspectLoop } from "./loop-guard.ts";
import { loopWarning } from "./loop-words.ts";
import { closeUnusedLease } from "./leases.ts";
import type { AgentManifest } from "./manifest.ts";
import { deadlineOf, isOutside, withDeadline } from "./run-time.ts";
import { type Price, priceUnknown, reservation } from "./reservation.ts";
import {
  type AnswerSummary,
  type Pin,
  pinOf,
  routeOf,
  type RunPhase,
  type RunState,
  type ThreadState,
} from "./state.ts";
import { giveUp, MAX_RECOVERIES, roundEffects } from "./tool-round.ts";
import { encodeRefs, trimWindow, windowTokens } from "./window.ts";

export interface EffectContext {
  readonly now: number;
  /** Fencing epoch of this process. Intents of an older one have no process any more. */
  readonly epoch: number;
  /** Price of the live run's route; null or absent where nobody knows, which a money cap refuses (B23). */
  readonly price?: Price | null;
}

/** Rounds of empty answers, truncated calls and unknown tools in a row that end a run (K20, K21, K23). */
const MAX_EMPTY_ANSWERS = 2;
const MAX_TRUNCATED_ANSWERS = 2;
const MAX_UNKNOWN_TOOL_STEPS = 3;
/** However small the context, a prompt can hold the question. */
const MIN_WINDOW_TOKENS = 128;

export function nextEffects(state: ThreadState, context: EffectContext): readonly Effect[] {
  const { run } = state;
  const unused = closeUnusedLease(state);
  if (unused !== null) return [record([unused])];
  if (state.halt !== null) return [];
  if (run === null) return startNext(state);
  if (run.cancel !== null)
    return [record([...closeForCancel(run), cancelled(run, run.cancel.reason)])];
  const pin = pinOf(state, run.definition);
  if (pin === null)
    return [
      record([failed(run, "definition_unavailable", "the manifest of this run is not in the log")]),
    ];
  const deadline = deadlineOf(run, pin.manifest.limits);
  const effects = phaseEffects({ state, run, pin, context });
  if (context.now < deadline || !isOutside(effects)) return withDeadline(effects, deadline);
  return [record(endOvertime(run, pin.manifest))];
}

function phaseEffects(live: Live): readonly Effect[] {
  const { run, pin, context } = live;
  const { phase } = run;
  switch (phase.type) {
    case "ready":
      return run.recoveries >= MAX_RECOVERIES ? [record(giveUp(run))] : callModel(live);
    case "backoff":
      return context.now < phase.retryAt
        ? [{ type: "wait_until", at: phase.retryAt }]
        : callModel(live);
    case "asking": {
      const { expiresAt } = phase.approval;
      if (context.now < expiresAt) return [{ type: "wait_until", at: expiresAt }];
      return [record(closeAsking(run, "expired"))];
    }
    case "model_open": {
      const lost = phase.intent.epoch < context.epoch ? lostAttempt(run) : null;
      if (lost === null) return [];
      return [
        record([
          {
            type: "model.interrupted",
            payload: { settlement: lost.settlement },
            scope: lost.scope,
          },
        ]),
      ];
    }
    case "tools":
      return roundEffects(run, phase, {
        manifest: pin.manifest,
        epoch: context.epoch,
        now: context.now,
      });
    case "answered":
      return judge(live, phase.answer);
    case "failed":
      return [record([endFailed(run, phase)])];
    case "erased":
      return [record([failed(run, "internal", "the newest model outcome of this run was erased")])];
  }
}

interface Live {
  readonly state: ThreadState;
  readonly run: RunState;
  readonly pin: Pin;
  readonly context: EffectContext;
}

function endOvertime(run: RunState, { limits }: AgentManifest): readonly ThreadDraft[] {
  const message = `it worked for ${limits.maxWallMs ?? 0} ms, which is as long as a run of this agent may`;
  return [...closeForDeadline(run), failed(run, "deadline_exceeded", message)];
}

function startNext(state: ThreadState): readonly Effect[] {
  const [next] = state.queue;
  if (next === undefined) return [];
  const scope = { run: next.runId, definition: next.definition };
  return [record([{ type: "run.started", payload: { inputs: [next.seq] }, scope }])];
}

/** What an answer, with all its calls closed, leads to. */
function judge(live: Live, answer: AnswerSummary): readonly Effect[] {
  const { run, pin } = live;
  if (answer.finish === "content_filter")
    return [complete(run, "content_filter", answer.hasText ? answer.seq : null)];
  if (answer.calls > 0) {
    if (run.truncatedAnswers >= MAX_TRUNCATED_ANSWERS) return [complete(run, "length")];
    return goOn(live);
  }
  const own = answer.hasText ? answer.seq : null;
  if (answer.finish === "length") return [complete(run, "length", own)];
  if (!answer.hasText) {
    return run.emptyAnswers >= MAX_EMPTY_ANSWERS
      ? [complete(run, "empty_output", null)]
      : callModel(live);
  }
  if (answer.output?.ok === false) return repair(run, pin.manifest, answer.output.issues);
  if (answer.textCall !== null && !run.reminded) return remind(run, answer.textCall);
  // A message that steers is answered before the run ends, as long as there is a step left for it (K3).
  if (run.steering.length > 0 && run.step < pin.manifest.limits.maxSteps) return callModel(live);
  return [complete(run, "stop")];
}

/** After a round of calls: on, unless the run goes in circles (K21, B3, B4). What a person says goes before. */
function goOn(live: Live): readonly Effect[] {
  const { state, run, pin } = live;
  const last = state.loop.recent.at(-1);
  if (run.unknownToolSteps >= MAX_UNKNOWN_TOOL_STEPS) {
    const { tool, args } = last ?? { tool: "", args: "" };
    return [stopLoop(run, { pattern: "unknown_tools", tool, args, count: run.unknownToolSteps })];
  }
  const found = run.steering.length > 0 ? null : inspectLoop(state.loop, pin.manifest);
  if (found === null) return callModel(live);
  const { verdict, report } = found;
  return verdict === "stop" ? [stopLoop(run, report)] : [warnLoop(run, report)];
}

function stopLoop(run: RunState, loop: LoopReport): Effect {
  return { ...complete(run, "loop_guard"), loop };
}

function warnLoop(run: RunState, loop: LoopReport): Effect {
  const scope = { ...runScope(run), step: run.step };
  const text = loopWarning(loop);
  return record([{ type: "context.added", payload: { kind: "reminder", text, loop }, scope }]);
}

function repair(
  run: RunState,
  manifest: AgentManifest,
  issues: readonly string[],
): readonly Effect[] {
  if (run.repairs >= manifest.maxRepairs) {
    const message = `the answer did not fit its schema after ${run.repairs} repairs: ${issues.join("; ")}`;
    return [record([failed(run, "output_invalid", message.slice(0, 1_000))])];
  }
  const list = issues.map((issue) => `- ${issue}`).join("\n");
  const text = `Your answer does not fit the required schema:\n${list}\nAnswer again with the corrected value only.`;
  const scope = { ...runScope(run), step: run.step };
  return [record([{ type: "context.added", payload: { kind: "repair", text }, scope }])];
}

/** A call written as text is not executed: it was parsed by nobody, and may be quoted from anywhere. */
function remind(run: RunState, tool: string): readonly Effect[] {
  const text = `Your answer holds a call of ${tool} written as text. It was not executed: tools are called through the tool interface only. Call it there if you meant to; otherwise answer in plain words.`;
  const scope = { ...runScope(run), step: run.step };
  return [record([{ type: "context.added", payload: { kind: "reminder", text }, scope }])];
}

function callModel({ state, run, pin, context }: Live): readonly Effect[] {
  const { manifest } = pin;
  const { limits, settings } = manifest;
  if (run.step >= limits.maxSteps) return [complete(run, "step_cap")];
  const room = manifest.contextTokens - settings.maxOutputTokens - pin.tokens;
  const budget = Math.min(room, run.windowCap ?? room);
  const entries = trimWindow(withInputs(state.window, run.steering), {
    budget: Math.max(MIN_WINDOW_TOKENS, budget),
    planSeq: state.planSeq,
  });
  const inputTokens = windowTokens(entries) + pin.tokens;
  const reserved = reservation(settings, inputTokens, context.price ?? null);
  const over = overCap(run, manifest, reserved);
  if (over !== null) return [record([over])];
  const window = entries.map((entry) => entry.ref);
  return [
    {
      type: "call_model",
      runId: run.runId,
      step: run.step + 1,
      attempt: run.attempts + 1,
      definition: run.definition,
      route: routeOf(run, manifest),
      settings,
      output: run.output,
      refs: encodeRefs(window, state.lastRequest),
      window,
      steered: run.steering.map((input) => input.seq),
      inputTokens,
      reservation: reserved,
      recovery: run.interrupted,
      grant: run.grant,
    },
  ];
}

/** Caps hold with the reservation counted, so that a run never spends past them (G11). */
function overCap(
  run: RunState,
  manifest: AgentManifest,
  reserved: Reservation,
): ThreadDraft | null {
  const { limits } = manifest;
  if (limits.maxTokens !== null && run.totals.tokens + reserved.tokens > limits.maxTokens) {
    return failed(
      run,
      "token_cap",
      `${run.totals.tokens} of ${limits.maxTokens} tokens are spent, and the next call reserves ${reserved.tokens}`,
    );
  }
  if (limits.maxCostMicros === null) return null;
  if (reserved.unpriced === true)
    return failed(run, "price_unknown", priceUnknown(routeOf(run, manifest), "this agent's runs"));
  if (run.totals.costMicros + reserved.costMicros > limits.maxCostMicros) {
    return failed(
      run,
      "cost_cap",
      `${run.totals.costMicros} of ${limits.maxCostMicros} micro-dollars are spent, and the next call reserves ${reserved.costMicros}`,
    );
  }
  return null;
}

/** A run that is cut short between steps ends with what it said last. */
function complete(
  run: RunState,
  finish: RunFinish,
  answerSeq: number | null = run.lastTextSeq,
): CompleteRun {
  return { type: "complete_run", runId: run.runId, definition: run.definition, finish, answerSeq };
}

function record(drafts: readonly ThreadDraft[]): Effect {
  return { type: "record", drafts };
}

function failed(run: RunState, reason: RunFailure, message: string): ThreadDraft {
  return { type: "run.failed", payload: { reason, message }, scope: runScope(run) };
}

function endFailed(
  run: RunState,
  { reason, message, budget }: Extract<RunPhase, { readonly type: "failed" }>,
): ThreadDraft {
  const payload = { reason, message, ...(budget === undefined ? {} : { budget }) };
  return { type: "run.failed", payload, scope: runScope(run) };
}

function cancelled(run: RunState, reason: string): ThreadDraft {
  return { type: "run.cancelled", payload: { reason }, scope: runScope(run) };
}
