/**
 * The tool calls of one step: which start, which are refused, and what becomes of those whose process died (G6 to G9).
 *
 * Recovery follows the effect declared at the intent: `read` and `idempotent` run again, with the first key;
 * `reconcile` is asked first; `once` is never run again, and its one outcome says that it is unknown. A call that waits
 * for a person holds up the next model call and no other call (A5).
 */
import { exhaustive } from "#shared/exhaustive.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { CallTool, Effect } from "./effects.ts";
import type { ThreadDraft } from "./events.ts";
import { callScope, closeApproval, closeForFailure, finishCall, runScope } from "./closing.ts";
import type { AgentManifest } from "./manifest.ts";
import type { CallState, OpenCall, RunPhase, RunState } from "./state.ts";

/** Interrupted attempts in a row, without a finished effect between, after which a run is given up (K15). */
export const MAX_RECOVERIES = 3;

type Round = Extract<RunPhase, { type: "tools" }>;

export function roundEffects(
  run: RunState,
  round: Round,
  {
    manifest,
    epoch,
    now,
  }: { readonly manifest: AgentManifest; readonly epoch: number; readonly now: number },
): readonly Effect[] {
  const orphans = round.calls.filter((call) => call.intent !== null && call.intent.epoch < epoch);
  if (
    orphans.some((call) => call.intent?.effect !== "once") &&
    run.recoveries + 1 >= MAX_RECOVERIES
  ) {
    return [{ type: "record", drafts: giveUp(run) }];
  }
  const used = new Map(Object.entries(run.callsPerTool));
  const drafts: ThreadDraft[] = [];
  const starts: Effect[] = [];
  let expiresAt = Infinity;
  for (const call of round.calls) {
    if (call.status === "closed") continue;
    if (call.status === "waiting") {
      // It will want its place among the calls of the run once it is approved.
      used.set(call.name, (used.get(call.name) ?? 0) + 1);
      const { expiresAt: at } = call.approval ?? { expiresAt: now };
      if (at <= now) drafts.push(...closeApproval(run, call, "expired"));
      else expiresAt = Math.min(expiresAt, at);
      continue;
    }
    if (call.intent !== null) {
      if (call.intent.epoch < epoch) drafts.push(recoverCall(run, call, call.intent));
      continue;
    }
    const refused = refuse(run, call, { manifest, used });
    if (refused !== null) drafts.push(refused);
    else starts.push(start(run, round, call));
  }
  const effects: readonly Effect[] =
    expiresAt === Infinity ? starts : [...starts, { type: "wait_until", at: expiresAt }];
  return drafts.length === 0 ? effects : [{ type: "record", drafts }, ...effects];
}

export function giveUp(run: RunState): readonly ThreadDraft[] {
  const message = `the process died in ${MAX_RECOVERIES} attempts in a row, and nothing was finished between them`;
  return [
    ...closeForFailure(run, "recovery_exhausted"),
    {
      type: "run.failed",
      payload: { reason: "recovery_exhausted", message },
      scope: runScope(run),
    },
  ];
}

function recoverCall(run: RunState, call: CallState, intent: OpenCall): ThreadDraft {
  switch (intent.effect) {
    case "read":
    case "idempotent":
      return { type: "tool.interrupted", payload: { next: "rerun" }, scope: callScope(run, call) };
    case "reconcile":
      return { type: "tool.interrupted", payload: { next: "check" }, scope: callScope(run, call) };
    case "once":
      return finishCall(run, call, {
        status: "unknown",
        code: "outcome_unknown",
        output:
          "The process stopped while this call was running. It may have taken effect, and it may not: do not assume either. " +
          "It was not run again. Find out what happened, or ask, before you repeat it.",
      });
    default:
      return exhaustive(intent.effect);
  }
}

/** Calls per tool are counted over the whole run, in call order (G11). A repeated attempt of a call is not a new call. */
function refuse(
  run: RunState,
  call: CallState,
  { manifest, used }: { readonly manifest: AgentManifest; readonly used: Map<string, number> },
): ThreadDraft | null {
  const scope = callScope(run, call);
  if (call.refusal !== null) {
    return { type: "tool.refused", payload: { name: call.name, refusal: call.refusal }, scope };
  }
  if (call.attempts > 0) return call.key === null ? refuseKeyless(call, scope) : null;
  const limit = manifest.tools.find((tool) => tool.name === call.name)?.limits.maxCallsPerRun;
  const count = used.get(call.name) ?? 0;
  if (limit !== undefined && count >= limit) {
    const message = `this run has made its ${limit} calls of ${call.name}; the call was not executed`;
    return {
      type: "tool.refused",
      payload: { name: call.name, refusal: { code: "tool_call_limit", message } },
      scope,
    };
  }
  used.set(call.name, count + 1);
  return null;
}

/** With its first intent erased the key is gone, and under another key it would be another effect (G7). */
function refuseKeyless({ name }: CallState, scope: EventScope): ThreadDraft {
  const message =
    "the record of the first attempt was erased; whether it took effect is not known, and it was not run again";
  return {
    type: "tool.refused",
    payload: { name, refusal: { code: "tool_unavailable", message } },
    scope,
  };
}

function grantOf({ approval }: CallState): CallTool["approval"] {
  if (approval === null || approval.decidedSeq === null) return null;
  const { approvalId, seq, decidedSeq } = approval;
  return { approvalId, requestedSeq: seq, decidedSeq };
}

function start(run: RunState, round: Round, call: CallState): Effect {
  return {
    type: "call_tool",
    runId: run.runId,
    step: run.step,
    callId: call.callId,
    attempt: call.attempts + 1,
    definition: run.definition,
    name: call.name,
    answerSeq: round.answer.seq,
    argsPart: call.argsPart,
    mode: call.next,
    idempotencyKey: call.key,
    approval: grantOf(call),
    recovery: call.attempts > 0,
  };
}
