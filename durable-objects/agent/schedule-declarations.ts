/**
 * Schedules that an agent declares, in its file or as data, in the thread `main` of each tenant that has one: compared at every start, and
 * written only where they differ, so that no number of restarts and deploys makes two of one (P127).
 */
import type { CommandContext } from "#kernel/commands.ts";
import type { ScheduleCommand } from "#kernel/schedule-events.ts";
import { AppError } from "#shared/errors.ts";
import { plan } from "./schedule-commands.ts";
import type { FiringThread } from "./schedule-firing.ts";
import type { ThreadHost } from "./thread-host.ts";

type DeclaringThread = FiringThread & Pick<ThreadHost, "address">;

/** The thread that does what its agent does by itself. */
export const MAIN_THREAD = "main";
const RUNTIME: CommandContext = { actor: "runtime", idempotencyKey: null, bodyDigest: "" };

export function declareSchedules(host: DeclaringThread): void {
  const { state, mode } = host.runtime;
  if (host.address.thread !== MAIN_THREAD || !state.created || !mode.writable) return;
  // While it is erased nothing may be added; an agent that is not deployed now may be deployed again.
  if (state.erasure !== null || host.definition === null) return;
  const { schedules: declared = [] } = host.definition;
  const names = new Set(declared.map(({ scheduleId }) => scheduleId));
  for (const { declared: isOurs, scheduleId } of state.schedules) {
    if (isOurs && !names.has(scheduleId))
      submit(host, { type: "delete_schedule", scheduleId, declared: true });
  }
  for (const request of declared) {
    const planned = plan(host, request);
    if (!planned.ok) throw new AppError("config_invalid", planned.error);
    const { scheduleId, text, overlap } = request;
    const { rule, nextAt } = planned.value;
    const spec = { scheduleId, rule, text, overlap };
    submit(host, { type: "set_schedule", spec, nextAt, declared: true });
  }
}

function submit(host: DeclaringThread, command: ScheduleCommand): void {
  const done = host.runtime.submit(command, RUNTIME);
  if (!done.ok)
    throw new AppError("config_invalid", `a schedule was not taken over: ${done.error.reason}`);
}
