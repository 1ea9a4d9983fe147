/** Leases and what outcomes charge them (B41 to B46). */
import type { Amounts } from "./amounts.ts";
import { corrupt } from "./evolve-run.ts";
import type { EventOf } from "./evolve-window.ts";
import { mapAmounts, NOTHING } from "./leases.ts";
import type { ClosedLease, LeaseState, OpenModel, ThreadState } from "./state.ts";

type LeaseEvent = EventOf<"lease.granted" | "lease.closed" | "lease.declined">;
type ModelOutcome = EventOf<"model.answered" | "model.failed" | "model.interrupted">;

export function evolveLease(state: ThreadState, event: LeaseEvent): ThreadState {
  const { lease } = state;
  switch (event.type) {
    case "lease.granted":
      return grant(state, event);
    case "lease.closed":
      if (lease === null || lease.leaseId !== event.header.leaseId || isOpen(state, lease))
        return corrupt("lease_unexpected", event);
      return { ...state, lease: null, closedLease: toClosed(lease, event.header.seq) };
    case "lease.declined":
      if (lease !== null && lease.leaseId === event.header.leaseId)
        return corrupt("lease_unexpected", event);
      return { ...state, leases: state.leases + 1 };
  }
}

function grant(state: ThreadState, event: EventOf<"lease.granted">): ThreadState {
  const { lease, run } = state;
  const { payload, header } = event;
  const { leaseId } = header;
  if (payload === null) return corrupt("payload_missing", event);
  if (leaseId === null || run === null || run.runId !== header.run)
    return corrupt("lease_unexpected", event);
  if (lease === null) {
    const fresh = { settled: NOTHING, overrun: NOTHING, runId: run.runId };
    return { ...state, lease: { leaseId, ...fresh, ...payload }, leases: state.leases + 1 };
  }
  if (lease.leaseId !== leaseId) return corrupt("lease_unexpected", event);
  return { ...state, lease: { ...lease, ...payload } };
}

function toClosed({ leaseId, settled, overrun }: LeaseState, seq: number): ClosedLease {
  return { leaseId, seq, settled, overrun };
}

function isOpen({ run }: ThreadState, { leaseId }: LeaseState): boolean {
  return run?.phase.type === "model_open" && run.phase.intent.leaseId === leaseId;
}

/** The lease with one outcome charged to it. */
export function chargeLease(
  lease: LeaseState | null,
  intent: OpenModel,
  { type, header, payload }: ModelOutcome,
): LeaseState | null {
  if (lease === null || intent.leaseId !== lease.leaseId) return lease;
  const { costMicros, tokens, wallMs = 0 } = intent.reserved;
  const reserved: Amounts = { costMicros, tokens, steps: 1, wallMs };
  const used: Amounts = {
    costMicros: payload?.settlement.costMicros ?? header.costMicros ?? 0,
    tokens: payload?.settlement.tokens ?? 0,
    steps: 1,
    // Nobody saw the end of an attempt that its process did not survive, so all of its time is taken as used.
    wallMs: type === "model.interrupted" ? wallMs : Math.max(0, header.at - intent.at),
  };
  return {
    ...lease,
    settled: mapAmounts((unit) => lease.settled[unit] + used[unit]),
    overrun: mapAmounts((unit) => lease.overrun[unit] + Math.max(0, used[unit] - reserved[unit])),
  };
}

/** An outcome's cost turned out otherwise while its lease is open. Of a closed one the ledger is told apart. */
export function correctLease(
  lease: LeaseState | null,
  event: EventOf<"usage.corrected">,
): LeaseState | null {
  if (lease === null || lease.leaseId !== event.header.leaseId) return lease;
  const delta = correctionOf(event);
  return { ...lease, settled: mapAmounts((unit) => lease.settled[unit] + delta[unit]) };
}

export function correctionOf({ header, payload }: EventOf<"usage.corrected">): Amounts {
  if (payload === null) return NOTHING;
  const { before, after } = payload;
  const tokens = after.settlement.tokens - before.settlement.tokens;
  return { ...NOTHING, costMicros: header.costMicros ?? 0, tokens };
}
