/** What can be asked of the schedules of a thread, as methods of its Durable Object. */
import type { Receipt } from "#kernel/commands.ts";
import type { ScheduleRequest, ScheduleStub, ScheduleView } from "#ports/schedule-stub.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import { ok } from "#shared/result.ts";
import * as schedules from "./schedule-commands.ts";
import { ACCESS, ThreadObject } from "./thread-object.ts";

export abstract class ScheduledThread<E extends Cloudflare.Env = Cloudflare.Env>
  extends ThreadObject<E>
  implements ScheduleStub
{
  async putSchedule(caller: Caller, request: ScheduleRequest): Promise<Reply<ScheduleView>> {
    return this[ACCESS].command(caller, (host) => schedules.setSchedule(host, caller, request));
  }

  async viewSchedules(caller: Caller): Promise<Reply<readonly ScheduleView[]>> {
    return this[ACCESS].read(caller, (host) => ok(schedules.listSchedules(host)));
  }

  async viewSchedule(caller: Caller, scheduleId: string): Promise<Reply<ScheduleView>> {
    return this[ACCESS].read(caller, (host) => schedules.viewSchedule(host, scheduleId));
  }

  async holdSchedule(
    caller: Caller,
    scheduleId: string,
    paused: boolean,
  ): Promise<Reply<ScheduleView>> {
    return this[ACCESS].command(caller, (host) =>
      schedules.pauseSchedule(host, caller, { scheduleId, paused }),
    );
  }

  async dropSchedule(caller: Caller, scheduleId: string): Promise<Reply<Receipt>> {
    return this[ACCESS].command(caller, (host) =>
      schedules.deleteSchedule(host, caller, scheduleId),
    );
  }

  async fireSchedule(
    caller: Caller,
    scheduleId: string,
    key: string | null,
  ): Promise<Reply<Receipt>> {
    return this[ACCESS].begin(caller, (host) =>
      schedules.runSchedule(host, caller, { scheduleId, key }),
    );
  }
}
