/** Schedules of a thread as a caller asks for them: checks what only the host knows, time and time zones (P120, P128). */
import type { Receipt } from "#kernel/commands.ts";
import type { ScheduleRule, ScheduleState } from "#kernel/schedule-events.ts";
import { dueAfter, isSameRule, MAX_SCHEDULE_CHARS, MIN_EVERY_SECONDS } from "#kernel/schedules.ts";
import type { RequestedRule, ScheduleRequest, ScheduleView } from "#ports/schedule-stub.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import type { Json } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { toFailure } from "./refusals.ts";
import { toFiring, type FiringThread } from "./schedule-firing.ts";
import type { ThreadHost } from "./thread-host.ts";

/** No timetable looks further ahead. */
const MAX_AHEAD_MS = 10 * 366 * 86_400_000;
const MAX_EVERY_SECONDS = 366 * 86_400;

export function setSchedule(
  host: ThreadHost,
  caller: Caller,
  request: ScheduleRequest,
): Reply<ScheduleView> {
  const planned = plan(host, request);
  if (!planned.ok) return invalid(planned.error);
  const { rule, nextAt } = planned.value;
  const { scheduleId, text, overlap } = request;
  const reply = host.submit(
    caller,
    {
      type: "set_schedule",
      spec: { scheduleId, rule, text, overlap },
      nextAt,
      declared: false,
    },
    { idempotencyKey: null, body: null },
  );
  return reply.ok ? viewSchedule(host, scheduleId) : reply;
}

/** A rule that stays as it is keeps its next time: changing the words of a schedule does not shift it. */
export function plan(
  host: FiringThread,
  { scheduleId, rule: asked, text }: ScheduleRequest,
): Result<{ readonly rule: ScheduleRule; readonly nextAt: number }, string> {
  const { now } = host;
  if (text.trim() === "") return err("the message of a schedule is empty");
  if (text.length > MAX_SCHEDULE_CHARS)
    return err(`the message of a schedule has at most ${MAX_SCHEDULE_CHARS} characters`);
  const rule = toRule(asked, now);
  const before = find(host, scheduleId);
  if (before !== undefined && isSameRule(before.rule, rule))
    return ok({ rule: before.rule, nextAt: before.nextAt });
  const fault = findFault(host, rule, now);
  if (fault !== null) return err(fault);
  const nextAt = dueAfter(rule, now, host.cron);
  return nextAt === null ? err("this time has passed already") : ok({ rule, nextAt });
}

function toRule(asked: RequestedRule, now: number): ScheduleRule {
  return asked.type === "every" ? { ...asked, anchor: now } : asked;
}

function findFault(host: FiringThread, rule: ScheduleRule, now: number): string | null {
  switch (rule.type) {
    case "once":
      return Number.isSafeInteger(rule.at) && rule.at <= now + MAX_AHEAD_MS
        ? null
        : "the time must be whole milliseconds, at most ten years ahead";
    case "every":
      return Number.isSafeInteger(rule.seconds) &&
        rule.seconds >= MIN_EVERY_SECONDS &&
        rule.seconds <= MAX_EVERY_SECONDS
        ? null
        : `every is whole seconds from ${MIN_EVERY_SECONDS} to ${MAX_EVERY_SECONDS}`;
    case "cron":
      return host.cron.fault(rule);
  }
}

export function listSchedules({ runtime }: ThreadHost): readonly ScheduleView[] {
  return runtime.state.schedules
    .map(toView)
    .toSorted(
      (a, b) =>
        (a.nextAt ?? Infinity) - (b.nextAt ?? Infinity) || (a.scheduleId < b.scheduleId ? -1 : 1),
    );
}

export function viewSchedule(host: ThreadHost, scheduleId: string): Reply<ScheduleView> {
  const schedule = find(host, scheduleId);
  return schedule === undefined
    ? err(toFailure({ reason: "schedule_unknown" }))
    : ok(toView(schedule));
}

/** What came due while it was paused is left out, but for a single time, which is late rather than lost. */
export function pauseSchedule(
  host: ThreadHost,
  caller: Caller,
  { scheduleId, paused }: { readonly scheduleId: string; readonly paused: boolean },
): Reply<ScheduleView> {
  const schedule = find(host, scheduleId);
  if (schedule === undefined) return err(toFailure({ reason: "schedule_unknown" }));
  const next = paused ? null : dueAfter(schedule.rule, host.now, host.cron);
  const reply = host.submit(
    caller,
    { type: "pause_schedule", scheduleId, paused, nextAt: next ?? schedule.nextAt },
    { idempotencyKey: null, body: null },
  );
  return reply.ok ? viewSchedule(host, scheduleId) : reply;
}

export function deleteSchedule(
  host: ThreadHost,
  caller: Caller,
  scheduleId: string,
): Reply<Receipt> {
  return host.submit(
    caller,
    { type: "delete_schedule", scheduleId, declared: false },
    { idempotencyKey: null, body: null },
  );
}

/** Now, beside its timetable. */
export function runSchedule(
  host: ThreadHost,
  caller: Caller,
  { scheduleId, key }: { readonly scheduleId: string; readonly key: string | null },
): Reply<Receipt> {
  const schedule = find(host, scheduleId);
  if (schedule === undefined) return err(toFailure({ reason: "schedule_unknown" }));
  const firing = toFiring(host, schedule, { asked: true });
  const body: Json = { schedule: scheduleId };
  return host.submit(caller, firing, { idempotencyKey: key, body });
}

function find(
  { runtime }: Pick<FiringThread, "runtime">,
  scheduleId: string,
): ScheduleState | undefined {
  return runtime.state.schedules.find((schedule) => schedule.scheduleId === scheduleId);
}

function toView({
  scheduleId,
  rule,
  text,
  overlap,
  paused,
  declared,
  nextAt,
  lastRun,
}: ScheduleState): ScheduleView {
  return {
    scheduleId,
    rule: rule.type === "every" ? { type: rule.type, seconds: rule.seconds } : rule,
    text,
    overlap,
    paused,
    declared,
    nextAt: paused ? null : nextAt,
    lastRun,
  };
}

function invalid(message: string): Reply<never> {
  return err({ code: "invalid_request", message, detail: {}, retryable: false });
}
