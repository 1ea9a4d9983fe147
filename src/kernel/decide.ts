/**
 * decide: what a command means for a thread in this state, as events to append, or why not.
 *
 * Idempotency keys are the host's table (K2); what is decided here is cheap to decide from state: a message id that is
 * live or queued is the same message. Rejections that need more than state are the host's: `run_not_active` for a run
 * that ended (here it is `run_unknown`), and `file_missing`.
 */
import { err, ok } from "#shared/result.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { CommandContext, Receipt, ThreadCommand, Decided } from "./commands.ts";
import { decideApproval, refuseApproval, supersede } from "./approvals.ts";
import { closeForCancel, runScope } from "./closing.ts";
import { selectBranch, startBranch } from "./decide-branch.ts";
import { decideSchedule } from "./decide-schedules.ts";
import { haltThread, resumeThread } from "./decide-halt.ts";
import { completeErasure, requestErasure } from "./decide-erasure.ts";
import type { ThreadDraft } from "./events.ts";
import { isBlank } from "./prompt-text.ts";
import { toCorrection } from "./usage-correction.ts";
import { isWaitingForHumans, pinOf, type RunState, type ThreadState } from "./state.ts";

type CommandOf<T extends ThreadCommand["type"]> = Extract<ThreadCommand, { readonly type: T }>;

/** A state object is written to every snapshot: larger things are files. */
export const MAX_STATE_BYTES = 256 * 1024;

const RECORDED: Omit<Receipt, "seq"> = { runId: null, messageId: null, disposition: "recorded" };

export function decide(
  state: ThreadState,
  command: ThreadCommand,
  context: CommandContext,
): Decided {
  if (command.type === "create_thread") return createThread(state, command, context);
  if (!state.created) return err({ reason: "thread_missing" });
  const scope: EventScope = { actor: context.actor };
  if (command.type === "request_erasure") return requestErasure(state, command, scope);
  if (command.type === "complete_erasure") return completeErasure(state, command, scope);
  // Nothing may be added that the erasure under way would have to reach as well.
  if (state.erasure?.target === "thread")
    return err({ reason: "erasure_active", erasureId: state.erasure.id });
  switch (command.type) {
    case "send_message":
      return sendMessage(state, command, scope);
    case "halt_thread":
      return haltThread(state, command, scope);
    case "resume_thread":
      return resumeThread(state, command, scope);
    case "cancel_run":
      return cancelRun(state, command, scope);
    case "start_branch":
      return startBranch(state, command, context.actor);
    case "select_branch":
      return selectBranch(state, command, context.actor);
    case "decide_approval":
      return decideApproval(state, command, scope);
    case "refuse_approval":
      return refuseApproval(command, scope);
    case "set_schedule":
    case "pause_schedule":
    case "delete_schedule":
    case "fire_schedule":
      return decideSchedule(state, command, scope);
    case "correct_usage":
      return correctUsage(command, scope);
    case "decline_lease": {
      const { leaseId } = command;
      if (state.lease?.leaseId === leaseId)
        return ok({ drafts: [], receipt: { ...RECORDED, disposition: "unchanged" } });
      const scope = { leaseId };
      return recorded({ type: "lease.declined", payload: { declined: true }, scope });
    }
    case "set_state":
      if (command.bytes > MAX_STATE_BYTES) {
        return err({ reason: "state_too_large", limit: MAX_STATE_BYTES, bytes: command.bytes });
      }
      return recorded({ type: "state.set", payload: { state: command.state }, scope });
    case "write_file": {
      const { path, digest, bytes } = command;
      return recorded({ type: "file.written", payload: { path, digest, bytes }, scope });
    }
    case "delete_file":
      return recorded({ type: "file.deleted", payload: { path: command.path }, scope });
  }
}

function correctUsage(command: CommandOf<"correct_usage">, actor: EventScope): Decided {
  const correction = toCorrection(command.outcome, command);
  if (!correction.ok) return correction;
  const draft = correction.value;
  return recorded({ ...draft, scope: { ...draft.scope, ...actor } });
}

function recorded(draft: ThreadDraft): Decided {
  return ok({ drafts: [draft], receipt: RECORDED });
}

function createThread(
  state: ThreadState,
  { owner, title }: CommandOf<"create_thread">,
  { actor }: CommandContext,
): Decided {
  if (state.created) return err({ reason: "thread_exists" });
  return recorded({ type: "thread.created", payload: { owner, title }, scope: { actor } });
}

function sendMessage(
  state: ThreadState,
  command: CommandOf<"send_message">,
  actor: EventScope,
): Decided {
  if (isBlank(command.text)) return err({ reason: "message_empty" });
  const again = repeated(state, command.messageId);
  if (again !== null) return ok({ drafts: [], receipt: again });
  if (state.halt !== null) return err({ reason: "thread_halted", since: state.halt.at });
  const { run, queue } = state;
  const busy = run?.runId ?? queue[0]?.runId ?? null;
  const { separate = false, outside = null, history = null } = command;
  if (busy !== null && (command.delivery === "reject" || history !== null))
    return err({ reason: "run_active", runId: busy });
  const limit = command.manifest.limits.maxQueuedInputs;
  // Nothing but a person moves such a run, so the message does: queued or steering, it is answered next (A6).
  // More of a budget stays asked for: whatever is said, the answer to it would need that too (B55).
  const isNext =
    run !== null &&
    outside === null &&
    run.phase.type !== "asking" &&
    isWaitingForHumans(run) &&
    command.delivery !== "interrupt";
  const superseded = isNext ? supersede(run, actor) : [];
  // One run has one output and one set of tools: a message that brings its own gets its own run.
  const mayJoin = command.output === null && !separate && outside === null;
  if (run !== null && (command.delivery === "steer" || isNext) && mayJoin) {
    if (run.steering.length >= limit) return err({ reason: "queue_full", limit });
    const input = received(command, { ...actor, ...runScope(run) });
    return ok({
      drafts: [...superseded, input],
      receipt: receipt(command, run.runId, "steered"),
    });
  }
  const waits = busy !== null && command.delivery !== "interrupt";
  if (waits && queue.length >= limit) return err({ reason: "queue_full", limit });
  const scope: EventScope = { run: command.runId, definition: command.definition };
  const drafts: ThreadDraft[] = [...superseded];
  // Whatever waits already goes on waiting: the message that interrupts starts in this very decision (K40).
  if (run !== null && !waits) drafts.push(...cancelLive(run, "interrupted", actor));
  if (pinOf(state, command.definition) === null) {
    const pinned = { definition: command.definition };
    drafts.push({
      type: "definition.pinned",
      payload: { manifest: command.manifest },
      scope: pinned,
    });
  }
  if (history !== null)
    drafts.push({
      type: "context.added",
      payload: { kind: "history", text: history },
      scope: actor,
    });
  drafts.push(received(command, { ...actor, ...scope }));
  if (waits) return ok({ drafts, receipt: receipt(command, command.runId, "queued") });
  drafts.push({ type: "run.started", payload: { inputs: [state.seq + drafts.length] }, scope });
  return ok({ drafts, receipt: receipt(command, command.runId, "started") });
}

function received(command: CommandOf<"send_message">, scope: EventScope): ThreadDraft {
  const { messageId, text, delivery, defaultOutput = null, outside = null } = command;
  const output = command.output ?? defaultOutput;
  const payload = { messageId, text, delivery, output };
  const origin = outside === null ? {} : { origin: [outside] };
  return { type: "input.received", payload, scope: { ...scope, ...origin } };
}

function receipt(
  { messageId }: CommandOf<"send_message">,
  runId: string,
  disposition: Receipt["disposition"],
): Omit<Receipt, "seq"> {
  return { runId, messageId, disposition };
}

function repeated({ run, queue }: ThreadState, messageId: string): Omit<Receipt, "seq"> | null {
  const known =
    run?.messageId === messageId
      ? run
      : [...(run?.steering ?? []), ...queue].find((input) => input.messageId === messageId);
  return known === undefined || known === null
    ? null
    : { runId: known.runId, messageId, disposition: "unchanged" };
}

/** Everything that is open is closed in the same decision, so that a cancellation settles at once (K16). */
function cancelRun(
  state: ThreadState,
  { runId, reason }: CommandOf<"cancel_run">,
  actor: EventScope,
): Decided {
  const cancelled: Omit<Receipt, "seq"> = { runId, messageId: null, disposition: "recorded" };
  if (state.run?.runId === runId) {
    return ok({ drafts: cancelLive(state.run, reason, actor), receipt: cancelled });
  }
  const queued = state.queue.find((input) => input.runId === runId);
  if (queued === undefined) return err({ reason: "run_unknown", runId });
  const scope = { ...actor, run: runId, definition: queued.definition };
  return ok({
    drafts: [{ type: "run.cancelled", payload: { reason }, scope }],
    receipt: cancelled,
  });
}

function cancelLive(run: RunState, reason: string, actor: EventScope): readonly ThreadDraft[] {
  const scope = { ...actor, ...runScope(run) };
  return [
    { type: "run.cancel_requested", payload: { reason }, scope },
    ...closeForCancel(run),
    { type: "run.cancelled", payload: { reason }, scope },
  ];
}
