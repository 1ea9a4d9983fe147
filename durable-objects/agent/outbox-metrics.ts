/**
 * The outbox consumer `metrics` (H51, H52). Not required: counters are worth no payload that is to be erased or pruned.
 *
 * The outbox delivers at least once. What was counted already is known by the cursor that moves with the counters.
 */
import type { ThreadEvents } from "#kernel/events.ts";
import { countUp, METRIC_EVENTS } from "#kernel/metrics.ts";
import type { OutboxConsumer } from "#ports/event-log.ts";
import type { MetricsStore } from "#ports/metrics.ts";
import type { ThreadAddress } from "#shared/ids.ts";
import { inTurn } from "./in-turn.ts";

export function metricsConsumer(
  { tenant, agent }: ThreadAddress,
  logId: string,
  store: MetricsStore,
): OutboxConsumer<ThreadEvents> {
  return {
    name: "metrics",
    required: false,
    types: METRIC_EVENTS,
    async deliver(events) {
      await inTurn("the thread", async () => {
        const from = await store.counted(tenant, logId);
        const fresh = events.filter(({ header }) => header.seq > from);
        const to = fresh.at(-1)?.header.seq ?? from;
        if (to === from) return true;
        return (
          (await store.add({ tenant, agent, logId, from, to, entries: countUp(fresh) })) || null
        );
      });
    },
  };
}
