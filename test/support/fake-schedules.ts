/** Schedules of a thread in memory: kept as they are put, with a next time that stands still. It fires nothing. */
import type { Receipt } from "#kernel/commands.ts";
import type { ScheduleStub, ScheduleView } from "#ports/schedule-stub.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import { err, ok } from "#shared/result.ts";

const RECEIPT: Receipt = { seq: 1, runId: null, messageId: null, disposition: "recorded" };
const MISSING: Reply<never> = err({
  code: "not_found",
  message: "no such schedule",
  detail: {},
  retryable: false,
});

/** `find` asks the thread first, as every method does. */
export function fakeSchedules(
  known: Map<string, ScheduleView>,
  find: (method: string, caller: Caller) => object | null,
): ScheduleStub {
  const of = (method: string, caller: Caller, id: string): ScheduleView | null =>
    find(method, caller) === null ? null : (known.get(id) ?? null);
  const put = (view: ScheduleView): Reply<ScheduleView> => {
    known.set(view.scheduleId, view);
    return ok(view);
  };
  return {
    putSchedule: async (caller, request) =>
      find("putSchedule", caller) === null
        ? MISSING
        : put({ ...request, paused: false, declared: false, nextAt: 1, lastRun: null }),
    viewSchedules: async (caller) =>
      find("viewSchedules", caller) === null ? MISSING : ok([...known.values()]),
    viewSchedule: async (caller, id) => {
      const view = of("viewSchedule", caller, id);
      return view === null ? MISSING : ok(view);
    },
    holdSchedule: async (caller, id, paused) => {
      const view = of("holdSchedule", caller, id);
      return view === null ? MISSING : put({ ...view, paused, nextAt: paused ? null : 1 });
    },
    dropSchedule: async (caller, id) => {
      if (of("dropSchedule", caller, id) === null) return MISSING;
      known.delete(id);
      return ok(RECEIPT);
    },
    fireSchedule: async (caller, id) =>
      of("fireSchedule", caller, id) === null
        ? MISSING
        : ok({ seq: 2, runId: "run_1", messageId: "msg_1", disposition: "started" }),
  };
}
