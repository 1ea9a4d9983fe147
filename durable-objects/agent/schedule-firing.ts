/**
 * Fires what is due in a thread. After any time that it slept through, each schedule fires once, for the time that is
 * recorded, and its next time is the first that is still ahead (P125): what was missed is not made up for one by one.
 */
import type { CommandContext } from "#kernel/commands.ts";
import type { ScheduleCommand, ScheduleState } from "#kernel/schedule-events.ts";
import { dueAfter, dueSchedules, nextFiring as nextFiringOf } from "#kernel/schedules.ts";
import type { Ids } from "#ports/ids.ts";
import type { ThreadRuntime } from "#runner/thread-runtime.ts";
import { AppError } from "#shared/errors.ts";
import type { ThreadHost } from "./thread-host.ts";

/** As much of a thread as this needs. */
export interface FiringThread extends Pick<
  ThreadHost,
  "now" | "cron" | "definition" | "definitionOf" | "refreshDefinition"
> {
  readonly runtime: Pick<ThreadRuntime, "state" | "mode" | "submit">;
  readonly storage: { readonly ids: Ids };
}
type Firing = Extract<ScheduleCommand, { readonly type: "fire_schedule" }>;

const RUNTIME: CommandContext = { actor: "runtime", idempotencyKey: null, bodyDigest: "" };

/** Of a thread that cannot write nothing is due. */
export function nextFiring({ runtime }: Pick<FiringThread, "runtime">): number | null {
  return runtime.mode.writable ? nextFiringOf(runtime.state) : null;
}

/** `declare` is asked once it is known what the agent is now: what a promotion has dropped does not fire (P49). */
export async function fireDue(host: FiringThread, declare: () => void): Promise<void> {
  const known = await host.refreshDefinition();
  if (!known.ok && known.error.retryable) {
    const { code, message } = known.error;
    throw new AppError(code, message, { kind: "unavailable", retryable: true });
  }
  declare();
  for (const schedule of dueSchedules(host.runtime.state, host.now)) {
    const fired = host.runtime.submit(toFiring(host, schedule, { asked: false }), RUNTIME);
    if (!fired.ok)
      throw new AppError("unavailable", `a schedule did not fire: ${fired.error.reason}`);
  }
}

export function toFiring(
  host: FiringThread,
  { seq, scheduleId, rule, nextAt }: ScheduleState,
  { asked }: { readonly asked: boolean },
): Firing {
  const { now, definition } = host;
  const { ids } = host.storage;
  const dueAt = asked ? now : nextAt;
  return {
    type: "fire_schedule",
    of: seq,
    dueAt,
    nextAt: asked ? nextAt : dueAfter(rule, Math.max(now, dueAt), host.cron),
    asked,
    now,
    runId: ids.next("run"),
    messageId: asked ? ids.next("msg") : `sch_${scheduleId}_${dueAt}`,
    agent:
      definition === null
        ? null
        : {
            manifest: definition.manifest,
            definition: host.definitionOf(definition),
            output: definition.output ?? null,
          },
  };
}
