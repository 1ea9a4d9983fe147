/**
 * Leases: what a thread tells its tenant's ledger, unasked through the outbox and asked by the ledger itself.
 *
 * Reports are totals as the log has them, so that telling twice is telling once (B45). A statement is made after
 * everything is told; what was never in this log is declined in it, and only then given back (B46).
 */
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import { correctionOf } from "#kernel/evolve-leases.ts";
import type { ThreadState } from "#kernel/state.ts";
import type { LeaseReport, LeaseStatement, LedgerStub } from "#ports/budget-ledger.ts";
import type { EventLog, OutboxConsumer } from "#ports/event-log.ts";
import type { ThreadRuntime } from "#runner/thread-runtime.ts";

export const LEDGER_CONSUMER = "ledger";

export interface LeaseSource {
  readonly state: () => ThreadState;
  readonly ledger: () => LedgerStub;
}

export function ledgerConsumer({ state, ledger }: LeaseSource): OutboxConsumer<ThreadEvents> {
  return {
    name: LEDGER_CONSUMER,
    required: true,
    types: [
      "model.answered",
      "model.failed",
      "model.interrupted",
      "usage.corrected",
      "lease.closed",
      "lease.declined",
    ],
    async deliver(events) {
      const reports = toReports(events, state());
      if (reports.length > 0) await ledger().report(reports);
    },
  };
}

/** In log order: what a lease came to stands behind what was charged to it. */
export function toReports(
  events: readonly ThreadEvent[],
  { lease, seq }: ThreadState,
): readonly LeaseReport[] {
  const told = events.flatMap((event) => toReport(event));
  const isCharged = lease !== null && events.some(({ header }) => header.leaseId === lease.leaseId);
  if (!isCharged) return told;
  const { leaseId, settled, overrun } = lease;
  return [...told, { type: "settled", leaseId, seq, settled, overrun }];
}

function toReport(event: ThreadEvent): readonly LeaseReport[] {
  const { type, header, payload } = event;
  const { leaseId, seq } = header;
  if (leaseId === null) return [];
  if (type === "lease.closed" && payload !== null)
    return [{ type: "closed", leaseId, seq, ...payload }];
  if (type === "usage.corrected")
    return [{ type: "corrected", leaseId, seq, delta: correctionOf(event) }];
  if (type === "lease.declined") return [{ type: "declined", leaseId, seq }];
  return [];
}

export interface LeaseHost {
  readonly runtime: ThreadRuntime;
  readonly log: EventLog<ThreadEvents>;
  /** Tells the ledger what is not told yet; true while something is left. */
  drainLedger(): Promise<boolean>;
}

/** Throws where the log cannot be written: then nothing can be declined, and the amount stays blocked. */
export async function stateLease(
  host: LeaseHost,
  { leaseId, decline }: { readonly leaseId: string; readonly decline: boolean },
): Promise<LeaseStatement> {
  if (await host.drainLedger()) return { type: "busy" };
  const { lease, seq } = host.runtime.state;
  if (lease?.leaseId === leaseId) {
    const { settled, overrun } = lease;
    return { type: "settled", leaseId, seq, settled, overrun };
  }
  if (!decline) return { type: "absent" };
  if (isUntold(host, leaseId)) return { type: "busy" };
  const declined = host.runtime.submit(
    { type: "decline_lease", leaseId },
    { actor: LEDGER_CONSUMER, idempotencyKey: null, bodyDigest: "" },
  );
  if (!declined.ok) throw new Error(declined.error.reason);
  return { type: "declined", leaseId, seq: declined.value.seq };
}

/** Recorded after the outbox was drained, in this very moment: the next question finds it told. */
function isUntold({ log }: LeaseHost, leaseId: string): boolean {
  const cursor = log.cursors().find(({ name }) => name === LEDGER_CONSUMER)?.seq ?? 0;
  for (let from = cursor + 1; ;) {
    const events = log.read({ from });
    if (events.some(({ header }) => header.leaseId === leaseId)) return true;
    const last = events.at(-1);
    if (last === undefined) return false;
    from = last.header.seq + 1;
  }
}
