/** Inputs, pins and the life of a run (K3, K4, K18). */
import { estimateTokens } from "./tokens.ts";
import type { ThreadEvent } from "./events.ts";
import { freeSchedules } from "./schedules.ts";
import type { AgentManifest } from "./manifest.ts";
import { type EventOf, pushEntries, settlePlan } from "./evolve-window.ts";
import { FRESH_LOOP } from "./loop-guard.ts";
import { type CorruptionReason, LogCorruption } from "./log-corruption.ts";
import { userText } from "./prompt-text.ts";
import { addToTotals, NO_TOTALS } from "./run-totals.ts";
import {
  pinOf,
  type QueuedInput,
  type RunState,
  type ThreadState,
  type WindowEntry,
} from "./state.ts";

type RunEvent = EventOf<
  "run.started" | "run.cancel_requested" | "run.completed" | "run.failed" | "run.cancelled"
>;

export function corrupt(reason: CorruptionReason, event: ThreadEvent): never {
  throw new LogCorruption(reason, event.header.seq, event.type);
}

/** The live run, which must be the one the event names. */
export function requireLiveRun(state: ThreadState, event: ThreadEvent): RunState {
  if (state.run === null || state.run.runId !== event.header.run)
    return corrupt("run_not_live", event);
  return state.run;
}

/** Whether a model call is what the run may do next. */
export function isDue({ phase: { type } }: RunState): boolean {
  return type !== "model_open" && type !== "tools" && type !== "failed" && type !== "asking";
}

export function evolvePin(state: ThreadState, event: EventOf<"definition.pinned">): ThreadState {
  const { definition, seq } = event.header;
  if (event.payload === null || definition === null) return corrupt("payload_missing", event);
  const { manifest } = event.payload;
  const needed = new Set(state.queue.map((input) => input.definition));
  if (state.run !== null) needed.add(state.run.definition);
  const pins = state.pins.filter(
    (pin) => needed.has(pin.definition) && pin.definition !== definition,
  );
  return {
    ...state,
    pins: [...pins, { definition, seq, manifest, tokens: preambleTokens(manifest) }],
  };
}

function preambleTokens(manifest: AgentManifest): number {
  const tools = manifest.tools.map(
    (tool) => `${tool.name} ${tool.description} ${JSON.stringify(tool.inputSchema)}`,
  );
  return (
    estimateTokens(manifest.instructions) +
    tools.reduce((sum, text) => sum + estimateTokens(text), 0)
  );
}

/** Whether it steers follows from the run in its header, which survives erasure. */
export function evolveInput(state: ThreadState, event: EventOf<"input.received">): ThreadState {
  const { seq, run: runId, definition } = event.header;
  if (runId === null || definition === null) return corrupt("run_unnamed", event);
  if (pinOf(state, definition) === null) return corrupt("definition_not_pinned", event);
  const text = userText(event.payload);
  const input: QueuedInput = {
    seq,
    messageId: event.payload?.messageId ?? "",
    runId,
    output: event.payload?.output ?? null,
    definition,
    tokens: estimateTokens(text),
    chars: text.length,
  };
  if (state.run?.runId !== runId) return { ...state, queue: [...state.queue, input] };
  return { ...state, run: { ...state.run, steering: [...state.run.steering, input] } };
}

export function evolveRun(state: ThreadState, event: RunEvent): ThreadState {
  if (event.type === "run.started") return startRun(state, event);
  if (event.type === "run.cancelled" && state.run?.runId !== event.header.run)
    return freeSchedules(cancelQueued(state, event), event.header);
  const run = requireLiveRun(state, event);
  if (event.type === "run.cancel_requested") {
    return { ...state, run: { ...run, cancel: { reason: event.payload?.reason ?? "" } } };
  }
  if (run.phase.type === "model_open") return corrupt("intent_still_open", event);
  if (run.phase.type === "tools") return corrupt("calls_still_open", event);
  if (run.phase.type === "asking") return corrupt("approval_still_open", event);
  if (event.type === "run.completed" && run.phase.type === "failed")
    return corrupt("phase_unexpected", event);
  const settled = freeSchedules(settlePlan({ ...state, run: null }), event.header);
  // Whoever cancels a run cancels what was said to it: those messages stay in the prompt, and start nothing.
  if (event.type === "run.cancelled") {
    return { ...settled, window: pushEntries(settled, run.steering.map(inputEntry)) };
  }
  return {
    ...settled,
    queue: [...run.steering.map((input) => asOwnRun(input, run)), ...settled.queue],
  };
}

function startRun(state: ThreadState, event: EventOf<"run.started">): ThreadState {
  if (event.payload === null) return corrupt("payload_missing", event);
  if (state.run !== null) return corrupt("run_already_live", event);
  const { run: runId, definition, seq } = event.header;
  const { inputs } = event.payload;
  const taken = state.queue.filter((input) => inputs.includes(input.seq));
  const [first] = taken;
  if (
    first === undefined ||
    taken.length !== inputs.length ||
    // Oldest first; only a message that interrupts, which is the newest, goes before others (K40).
    (first !== state.queue[0] && first !== state.queue.at(-1)) ||
    runId !== first.runId
  ) {
    return corrupt("input_unknown", event);
  }
  if (definition !== first.definition) return corrupt("definition_not_pinned", event);
  const run: RunState = {
    runId: first.runId,
    messageId: first.messageId,
    definition: first.definition,
    startedSeq: seq,
    step: 0,
    phase: { type: "ready" },
    output: first.output,
    steering: [],
    cancel: null,
    attempts: 0,
    failures: 0,
    interrupted: false,
    recoveries: 0,
    recoveryEpoch: null,
    repairs: 0,
    fallback: 0,
    windowCap: null,
    reminded: false,
    emptyAnswers: 0,
    truncatedAnswers: 0,
    unknownToolSteps: 0,
    callsPerTool: {},
    totals: NO_TOTALS,
    lastTextSeq: null,
    clock: { workedMs: 0, since: null },
    grant: null,
  };
  const queue = state.queue.filter((input) => !inputs.includes(input.seq));
  const window = pushEntries(state, taken.map(inputEntry));
  return { ...state, run, queue, window, loop: FRESH_LOOP };
}

function cancelQueued(state: ThreadState, event: RunEvent): ThreadState {
  const queue = state.queue.filter((input) => input.runId !== event.header.run);
  if (queue.length === state.queue.length) return corrupt("run_not_live", event);
  return { ...state, queue };
}

function inputEntry(input: QueuedInput): WindowEntry {
  return {
    ref: [input.seq, 0, 0],
    kind: "user",
    tokens: input.tokens,
    chars: input.chars,
    unit: input.seq,
  };
}

/** The same window when there are none: it is long, and most steps have none. */
export function withInputs(
  window: readonly WindowEntry[],
  inputs: readonly QueuedInput[],
): readonly WindowEntry[] {
  return inputs.length === 0 ? window : window.concat(inputs.map(inputEntry));
}

const CARRIED = /-s\d+$/;

/**
 * A message that came too late to steer its run gets a run of its own, so that none is lost (K3). The id follows from
 * the log: the seq makes it unique, and the stripped suffix keeps it short however often a message is carried on.
 */
function asOwnRun(input: QueuedInput, run: RunState): QueuedInput {
  return { ...input, runId: `${run.runId.replace(CARRIED, "")}-s${input.seq}` };
}

/** Adds what an outcome cost. */
export function settle(run: RunState, event: ThreadEvent): RunState {
  return { ...run, totals: addToTotals(run.totals, event) };
}

/** One interrupted attempt more; several closed by one wake count once, because they died together (K15). */
export function countRecovery(run: RunState, epoch: number): RunState {
  if (run.recoveryEpoch === epoch) return run;
  return { ...run, recoveries: run.recoveries + 1, recoveryEpoch: epoch };
}

/** An effect finished: there is progress. */
export function clearRecovery(run: RunState): RunState {
  return run.recoveries === 0 ? run : { ...run, recoveries: 0, recoveryEpoch: null };
}
