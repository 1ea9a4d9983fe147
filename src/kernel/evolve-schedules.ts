/**
 * Schedules in the fold. Events behind the first name it by the seq of the one that set it, and hold no words: erasing
 * what a person wrote takes the schedule along, and leaves what became of it, which then names nothing.
 */
import type { EventOf } from "./evolve-window.ts";
import { corrupt } from "./evolve-run.ts";
import type { ScheduleState } from "./schedule-events.ts";
import type { ThreadState } from "./state.ts";
import { toDay } from "./utc-day.ts";

type ScheduleEvent = EventOf<
  "schedule.set" | "schedule.declared" | "schedule.paused" | "schedule.fired" | "schedule.deleted"
>;

export function evolveSchedule(state: ThreadState, event: ScheduleEvent): ThreadState {
  switch (event.type) {
    case "schedule.set":
    case "schedule.declared":
      return setSchedule(state, event);
    case "schedule.paused": {
      if (event.payload === null) return corrupt("payload_missing", event);
      const { of, paused, nextAt } = event.payload;
      return change(state, of, (schedule) => ({ ...schedule, paused, nextAt }));
    }
    case "schedule.deleted":
      if (event.payload === null) return corrupt("payload_missing", event);
      return without(state, event.payload.of);
    case "schedule.fired":
      return fire(state, event);
  }
}

/** What was set under this id before is replaced; the run that it began last is still its own. */
function setSchedule(
  state: ThreadState,
  { header, type, payload }: EventOf<"schedule.set" | "schedule.declared">,
): ThreadState {
  if (payload === null) return state;
  const { nextAt, paused, ...spec } = payload;
  const before = state.schedules.find(({ scheduleId }) => scheduleId === spec.scheduleId);
  const schedule: ScheduleState = {
    ...spec,
    seq: header.seq,
    declared: type === "schedule.declared",
    paused,
    nextAt,
    lastRun: before?.lastRun ?? null,
    freedAt: before?.freedAt ?? null,
  };
  const rest = state.schedules.filter((known) => known !== before);
  return { ...state, schedules: [...rest, schedule] };
}

function fire(state: ThreadState, event: EventOf<"schedule.fired">): ThreadState {
  if (event.payload === null) return corrupt("payload_missing", event);
  const { of, nextAt, skipped } = event.payload;
  const day = toDay(event.header.at);
  const count = state.firings.day === day ? state.firings.count : 0;
  const counted = { ...state, firings: { day, count: count + (skipped === null ? 1 : 0) } };
  if (nextAt === null) return without(counted, of);
  const { run } = event.header;
  return change(counted, of, (schedule) =>
    skipped === null
      ? { ...schedule, nextAt, lastRun: run, freedAt: null }
      : { ...schedule, nextAt },
  );
}

function change(
  state: ThreadState,
  seq: number,
  update: (schedule: ScheduleState) => ScheduleState,
): ThreadState {
  const schedules = state.schedules.map((schedule) =>
    schedule.seq === seq ? update(schedule) : schedule,
  );
  return { ...state, schedules };
}

function without(state: ThreadState, seq: number): ThreadState {
  return { ...state, schedules: state.schedules.filter((schedule) => schedule.seq !== seq) };
}
