/**
 * evolve: the fold of a thread's log. Total over logs that a single writer can have written; anything else is refused
 * as `LogCorruption` (K14), never repaired.
 *
 * Erased payloads fold, except those of the structural events that `isErasable` names: structure comes from headers. An
 * erased text weighs as a placeholder; an erased answer keeps its place, and the compiler leaves it out together with
 * the results of its calls. Erasing the newest outcome of a live run fails that run: a host waits until it has ended.
 */
import type { EventHeader, Fold } from "#ports/event-log.ts";
import type { ThreadEvent, ThreadEvents } from "./events.ts";
import { MAIN_BRANCH } from "./branch.ts";
import { evolveBranch } from "./evolve-branch.ts";
import { evolveApproval } from "./evolve-approvals.ts";
import { evolveErasure } from "./evolve-erasure.ts";
import { evolveInput, evolvePin, evolveRun } from "./evolve-run.ts";
import { evolveLease } from "./evolve-leases.ts";
import { evolveModel, evolveUsage } from "./evolve-model.ts";
import { evolveTool } from "./evolve-tools.ts";
import { evolveSchedule } from "./evolve-schedules.ts";
import { evolveContext, evolvePlan, type EventOf } from "./evolve-window.ts";
import { FRESH_LOOP } from "./loop-guard.ts";
import { LogCorruption } from "./log-corruption.ts";
import { keepTime } from "./run-time.ts";
import { NO_TOTALS } from "./run-totals.ts";
import { dumpState, restoreState } from "./snapshot.ts";
import type { Halt, ThreadState } from "./state.ts";

/** Members of a live run that came later. */
const FRESH_RUN = { grant: null, clock: { workedMs: 0, since: null }, totals: NO_TOTALS };
const INITIAL: ThreadState = {
  seq: 0,
  epoch: 0,
  created: false,
  owner: null,
  title: null,
  shared: null,
  halt: null,
  run: null,
  queue: [],
  window: [],
  lastRequest: null,
  plan: [],
  planSeq: null,
  pendingPlan: null,
  branch: { id: MAIN_BRANCH, seq: null },
  pins: [],
  erasure: null,
  abandoned: [],
  loop: FRESH_LOOP,
  lease: null,
  closedLease: null,
  schedules: [],
  firings: { day: "", count: 0 },
  leases: 0,
};

export function evolve(state: ThreadState, event: ThreadEvent): ThreadState {
  const { seq, epoch } = event.header;
  if (seq !== state.seq + 1) throw new LogCorruption("seq_gap", seq, event.type);
  if (epoch < state.epoch) throw new LogCorruption("epoch_regressed", seq, event.type);
  if (!state.created && event.type !== "thread.created")
    throw new LogCorruption("thread_not_created", seq, event.type);
  return { ...keepTime(step(state, event), event.header.at), seq, epoch };
}

/**
 * The last of all change nothing: words on the way, an attempt that was refused, and files, whose workspace is a projection of
 * its own: the kernel only keeps the order.
 */
function step(state: ThreadState, event: ThreadEvent): ThreadState {
  switch (event.type) {
    case "thread.created":
    case "thread.halted":
    case "thread.resumed":
    case "state.set":
      return evolveThread(state, event);
    case "definition.pinned":
      return evolvePin(state, event);
    case "input.received":
      return evolveInput(state, event);
    case "run.started":
    case "run.cancel_requested":
    case "run.completed":
    case "run.failed":
    case "run.cancelled":
      return evolveRun(state, event);
    case "model.requested":
    case "model.answered":
    case "model.failed":
    case "model.interrupted":
    case "route.changed":
      return evolveModel(state, event);
    case "usage.corrected":
      return evolveUsage(state, event);
    case "tool.started":
    case "tool.finished":
    case "tool.refused":
    case "tool.interrupted":
    case "tool.late":
      return evolveTool(state, event);
    case "branch.started":
    case "branch.selected":
      return evolveBranch(state, event);
    case "approval.requested":
    case "approval.decided":
      return evolveApproval(state, event);
    case "lease.granted":
    case "lease.closed":
    case "lease.declined":
      return evolveLease(state, event);
    case "schedule.set":
    case "schedule.declared":
    case "schedule.paused":
    case "schedule.fired":
    case "schedule.deleted":
      return evolveSchedule(state, event);
    case "plan.updated":
    case "context.added":
      return event.type === "plan.updated" ? evolvePlan(state, event) : evolveContext(state, event);
    case "erasure.requested":
    case "erasure.completed":
      return evolveErasure(state, event);
    case "tool.reported":
    case "approval.refused":
    case "file.written":
    case "file.deleted":
      return state;
  }
}

function evolveThread(
  state: ThreadState,
  event: EventOf<"thread.created" | "thread.halted" | "thread.resumed" | "state.set">,
): ThreadState {
  switch (event.type) {
    case "thread.created":
      if (state.created)
        throw new LogCorruption("thread_created_twice", event.header.seq, event.type);
      return {
        ...state,
        created: true,
        owner: event.payload?.owner ?? null,
        title: event.payload?.title ?? null,
      };
    case "thread.halted":
      return { ...state, halt: toHalt(event.header, event.payload?.reason ?? null) };
    case "thread.resumed":
      return { ...state, halt: null };
    case "state.set":
      return { ...state, shared: event.payload?.state ?? null };
  }
}

function toHalt({ seq, at, actor: by }: EventHeader, reason: string | null): Halt {
  return { seq, at, by, reason };
}

export const THREAD_FOLD: Fold<ThreadEvents, ThreadState> = {
  id: "thread",
  version: 11,
  restorable: 7,
  initial: () => INITIAL,
  evolve,
  // The state is plain JSON; a snapshot's digest is checked by the log before it comes back here.
  dump: dumpState,
  // Of an older version, members that came later are as they begin.
  restore: (dumped) => {
    const state = { ...INITIAL, ...restoreState(dumped) };
    return state.run === null ? state : { ...state, run: { ...FRESH_RUN, ...state.run } };
  },
};
