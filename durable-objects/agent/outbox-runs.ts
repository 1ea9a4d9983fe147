/**
 * The outbox consumer `runs`: how each run stands, for lists over all threads (P97). Not required: the index holds nothing
 * that is to be erased or pruned.
 */
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import { RUN_CHANGES } from "#kernel/run-events.ts";
import type { OutboxConsumer } from "#ports/event-log.ts";
import type { RunIndex } from "#ports/run-index.ts";
import type { RunStatus } from "#ports/thread-gateway.ts";
import type { ThreadAddress } from "#shared/ids.ts";

const TYPES = ["input.received", ...RUN_CHANGES] as const;

export function runIndexConsumer(
  place: ThreadAddress & { readonly owner: string },
  index: RunIndex,
  statusOf: (run: string) => RunStatus | null,
): OutboxConsumer<ThreadEvents> {
  return {
    name: "runs",
    required: false,
    types: TYPES,
    async deliver(events) {
      const newest = new Map<string, ThreadEvent["header"]>();
      for (const { type, header } of events) {
        // A message that joins a run changes nothing of how it stands.
        const joins = type === "input.received" && statusOf(header.run ?? "") !== "queued";
        if (header.run !== null && !joins) newest.set(header.run, header);
      }
      for (const [run, { at, seq }] of newest) {
        const status = statusOf(run);
        if (status !== null) await index.put({ ...place, run, status, at, seq });
      }
    },
  };
}
