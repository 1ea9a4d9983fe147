/**
 * Decisions on schedules (P120 to P129). A firing and the message that it sends are one append: whoever dies behind it has
 * begun the run, whoever dies before it finds the same time due again.
 */
import { err, ok } from "#shared/result.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { Receipt, Decided } from "./commands.ts";
import type { ThreadDraft } from "./events.ts";
import type { ScheduleCommand, ScheduleSkip, ScheduleState } from "./schedule-events.ts";
import { isInTheWay, isSameSpec, MAX_FIRINGS_PER_DAY, MAX_SCHEDULES } from "./schedules.ts";
import { pinOf, type ThreadState } from "./state.ts";
import { toDay } from "./utc-day.ts";

type CommandOf<T extends ScheduleCommand["type"]> = Extract<ScheduleCommand, { readonly type: T }>;
type Firing = CommandOf<"fire_schedule">;

export function decideSchedule(
  state: ThreadState,
  command: ScheduleCommand,
  caller: EventScope,
): Decided {
  const actor = isOwn(command) ? {} : caller;
  if (command.type === "set_schedule") return setSchedule(state, command, actor);
  if (command.type === "fire_schedule") return fireSchedule(state, command, actor);
  const schedule = state.schedules.find(({ scheduleId }) => scheduleId === command.scheduleId);
  if (schedule === undefined) return err({ reason: "schedule_unknown" });
  const of = schedule.seq;
  if (command.type === "pause_schedule") {
    const { paused, nextAt } = command;
    if (schedule.paused === paused) return UNCHANGED;
    return recorded({ type: "schedule.paused", payload: { of, paused, nextAt }, scope: actor });
  }
  if (schedule.declared && !command.declared) return err({ reason: "schedule_declared" });
  return recorded({ type: "schedule.deleted", payload: { of }, scope: actor });
}

/** What the runtime does by itself has no actor. */
function isOwn(command: ScheduleCommand): boolean {
  if (command.type === "fire_schedule") return !command.asked;
  return command.type !== "pause_schedule" && command.declared;
}

/** Set again as it is, nothing happens: whoever sets it at each start has one. */
function setSchedule(
  state: ThreadState,
  { spec, nextAt, declared }: CommandOf<"set_schedule">,
  actor: EventScope,
): Decided {
  const before = state.schedules.find(({ scheduleId }) => scheduleId === spec.scheduleId);
  if (before === undefined && state.schedules.length >= MAX_SCHEDULES)
    return err({ reason: "schedules_full", limit: MAX_SCHEDULES });
  if (before?.declared === true && !declared) return err({ reason: "schedule_declared" });
  if (before !== undefined && before.declared === declared && isSameSpec(before, spec))
    return UNCHANGED;
  const payload = { ...spec, paused: before?.paused ?? false, nextAt };
  const type = declared ? "schedule.declared" : "schedule.set";
  return recorded({ type, payload, scope: actor });
}

function fireSchedule(state: ThreadState, command: Firing, actor: EventScope): Decided {
  const schedule = state.schedules.find(({ seq }) => seq === command.of);
  if (schedule === undefined) return err({ reason: "schedule_unknown" });
  if (state.halt !== null) return err({ reason: "thread_halted", since: state.halt.at });
  const { dueAt, nextAt, asked } = command;
  // Fired already: by a process that died before it could say so.
  if (!asked && (schedule.paused || schedule.nextAt !== dueAt)) return UNCHANGED;
  const skipped = whyNot(state, schedule, command);
  const payload = { of: schedule.seq, dueAt, nextAt };
  if (skipped !== null) {
    if (asked) return refuse(state, schedule, skipped);
    return recorded({ type: "schedule.fired", payload: { ...payload, skipped }, scope: actor });
  }
  return begin(state, { schedule, command, actor });
}

function whyNot(
  state: ThreadState,
  schedule: ScheduleState,
  { agent, asked, dueAt, now }: Firing,
): ScheduleSkip | null {
  const { overlap, freedAt } = schedule;
  if (agent === null) return "definition_unavailable";
  // The time came while the run before was open, which has ended meanwhile: the next one is on time again.
  const isPast = !asked && overlap === "skip" && freedAt !== null && dueAt <= freedAt;
  if (isPast || isInTheWay(state, schedule)) return "overlap";
  if (state.queue.length >= agent.manifest.limits.maxQueuedInputs) return "queue_full";
  const { day, count } = state.firings;
  return day === toDay(now) && count >= MAX_FIRINGS_PER_DAY ? "daily_limit" : null;
}

function refuse(state: ThreadState, { lastRun }: ScheduleState, skipped: ScheduleSkip): Decided {
  if (skipped === "overlap") return err({ reason: "run_active", runId: lastRun ?? "" });
  if (skipped === "daily_limit") return err({ reason: skipped, limit: MAX_FIRINGS_PER_DAY });
  return err({ reason: "queue_full", limit: state.queue.length });
}

/** The message waits behind whatever is there, a run that waits for a person too: no timetable takes its question back. */
function begin(
  state: ThreadState,
  {
    schedule,
    command,
    actor,
  }: { readonly schedule: ScheduleState; readonly command: Firing; readonly actor: EventScope },
): Decided {
  const { agent, runId, messageId, dueAt, nextAt } = command;
  if (agent === null) return UNCHANGED;
  const { definition, manifest, output } = agent;
  const scope: EventScope = { run: runId, definition };
  const fired = { of: schedule.seq, dueAt, nextAt, skipped: null };
  const input = { messageId, text: schedule.text, delivery: "queue", output } as const;
  const drafts: readonly ThreadDraft[] = [
    { type: "schedule.fired", payload: fired, scope: { ...actor, ...scope } },
    ...(pinOf(state, definition) === null
      ? [{ type: "definition.pinned", payload: { manifest }, scope: { definition } } as const]
      : []),
    { type: "input.received", payload: input, scope: { ...actor, ...scope } },
  ];
  const receipt = { runId, messageId } as const;
  if (state.run !== null || state.queue.length > 0)
    return ok({ drafts, receipt: { ...receipt, disposition: "queued" } });
  const inputs = [state.seq + drafts.length];
  return ok({
    drafts: [...drafts, { type: "run.started", payload: { inputs }, scope }],
    receipt: { ...receipt, disposition: "started" },
  });
}

const NOTHING: Omit<Receipt, "seq" | "disposition"> = { runId: null, messageId: null };
const UNCHANGED: Decided = ok({
  drafts: [],
  receipt: { ...NOTHING, disposition: "unchanged" },
});

function recorded(draft: ThreadDraft): Decided {
  return ok({ drafts: [draft], receipt: { ...NOTHING, disposition: "recorded" } });
}
