/**
 * LeaseBudget: the budget hook of one thread. A model call is let through when the run's lease covers its worst case; else
 * the tenant's ledger is asked for more (B41).
 *
 * Keeps nothing: what a lease has left follows from the thread's state, and the id of the next lease too, so a process that
 * died between asking and recording is followed by one that asks for the very same lease (B46). Fails closed: without an
 * answer of the ledger nothing is dispatched.
 */
import type { Amounts, BudgetAsk, BudgetStop } from "#kernel/amounts.ts";
import type { Reservation, ThreadDraft } from "#kernel/events.ts";
import {
  closeLease,
  covers,
  leaseRest,
  MAX_CALL_WALL_MS,
  nextLeaseId,
  NOTHING,
} from "#kernel/leases.ts";
import { priceUnknown } from "#kernel/reservation.ts";
import type { LeaseState } from "#kernel/state.ts";
import type { LeaseAnswer, LeaseRequest, LedgerStub } from "#ports/budget-ledger.ts";
import type { Clock } from "#ports/clock.ts";
import type {
  BudgetHook,
  BudgetRefused,
  EffectView,
  HookThread,
  ModelView,
  Reserved,
} from "./gate-hooks.ts";

/** A deploy resets every object, so a ledger may be gone for a moment. */
const RETRY_AFTER_MS: readonly number[] = [100, 500, 2_000];

export interface LeaseBudgetDeps {
  readonly thread: HookThread;
  /** Made anew for each call: a stub that saw its object reset stays broken. */
  readonly ledger: () => LedgerStub;
  readonly clock: Clock;
}

export class LeaseBudget implements BudgetHook {
  readonly #deps: LeaseBudgetDeps;

  constructor(deps: LeaseBudgetDeps) {
    this.#deps = deps;
  }

  async reserve(view: EffectView): Promise<Reserved | BudgetRefused> {
    if (view.kind === "tool") return { allow: true, reservation: view.reservation };
    const need = worstCase(view);
    const reservation = { ...view.reservation, wallMs: need.wallMs };
    const lease = this.#usable(view);
    if (lease !== null && isCovered(lease, need, reservation))
      return { allow: true, reservation, leaseId: lease.leaseId };
    return this.#ask(view, { lease, need, reservation, declined: [] });
  }

  /** What an outcome used is charged by the log itself. */
  settle(): void {}

  #usable({ state }: ModelView): LeaseState | null {
    const { lease } = state;
    return lease !== null && this.#deps.clock.now() < lease.until ? lease : null;
  }

  async #ask(view: ModelView, asked: Asked): Promise<Reserved | BudgetRefused> {
    const { thread } = this.#deps;
    const { state, runId } = view;
    const { lease, need, reservation, declined } = asked;
    const { agent, thread: id, owner, logId } = thread;
    const leaseId = lease?.leaseId ?? nextLeaseId(state, logId, declined.length);
    const answer = await this.#reach({
      leaseId,
      holder: { agent, thread: id, run: runId, user: owner },
      epoch: state.epoch,
      seq: state.seq,
      settled: lease?.settled ?? NOTHING,
      overrun: lease?.overrun ?? NOTHING,
      closed: state.closedLease,
      need,
      priced: reservation.unpriced !== true,
      grant: view.grant,
    });
    if (answer === null) return UNREACHED;
    if (answer.granted) {
      const { amounts: granted, until, priced } = answer;
      const grant: ThreadDraft = {
        type: "lease.granted",
        payload: { granted, until, priced },
        scope: { run: runId, leaseId },
      };
      // One that is past its time makes way: a thread has one lease.
      const past = lease === null && state.lease !== null ? [closeLease(state.lease)] : [];
      const never = declined.map((id) => declineLease(id));
      return { allow: true, reservation, leaseId, drafts: [...past, ...never, grant] };
    }
    if (answer.stop !== null) return toRefusal(answer, view.route);
    // The ledger's day has ended before the thread's own clock said so.
    if (lease !== null) return this.#ask(view, { ...asked, lease: null });
    // One of yesterday that was granted and never recorded: it is declined beside the one that takes its place.
    if (declined.length > 0) return UNREACHED;
    return this.#ask(view, { ...asked, declined: [leaseId] });
  }

  /** Null when the ledger does not answer. Asking again is safe: a lease is named by its holder. */
  async #reach(request: LeaseRequest): Promise<LeaseAnswer | null> {
    const { ledger, thread } = this.#deps;
    for (const delay of RETRY_AFTER_MS) {
      try {
        return await ledger().lease(request);
      } catch {
        await new Promise<void>((resolve) => thread.timers.after(delay, resolve));
      }
    }
    try {
      return await ledger().lease(request);
    } catch {
      return null;
    }
  }
}

interface Asked {
  readonly lease: LeaseState | null;
  readonly need: Amounts;
  readonly reservation: Reservation;
  /** Leases that the ledger has ended before this log held them. */
  readonly declined: readonly string[];
}

function declineLease(leaseId: string): ThreadDraft {
  return { type: "lease.declined", payload: { declined: true }, scope: { leaseId } };
}

function worstCase({ reservation }: ModelView): Amounts {
  const { costMicros, tokens } = reservation;
  return { costMicros, tokens, steps: 1, wallMs: MAX_CALL_WALL_MS };
}

/** After an overrun the ledger is asked each time: its budgets may have been stopped by it (B48). */
function isCovered(lease: LeaseState, need: Amounts, { unpriced }: Reservation): boolean {
  const { overrun } = lease;
  const isKept = overrun.costMicros + overrun.tokens + overrun.wallMs === 0;
  return isKept && (unpriced !== true || !lease.priced) && covers(leaseRest(lease), need);
}

const UNREACHED: BudgetRefused = {
  allow: false,
  cap: "ledger_unavailable",
  message:
    "The tenant's ledger gave no answer, so nothing was spent. Send the message again later.",
};

function toRefusal(
  {
    stop,
    cheaper,
    ask,
  }: { readonly stop: BudgetStop; readonly cheaper: boolean; readonly ask: BudgetAsk | null },
  route: string,
): BudgetRefused {
  if (stop.cause !== "price_unknown")
    return {
      allow: false,
      cap: "budget_exceeded",
      message: describeStop(stop),
      budget: stop,
      cheaper,
      ...(ask === null ? {} : { ask }),
    };
  const message = priceUnknown(route, `runs under the budget ${stop.budgetId}`);
  return { allow: false, cap: "price_unknown", message, budget: stop, cheaper };
}

function describeStop(stop: BudgetStop): string {
  const { budgetId, scope, period, unit, spent, leased, needed, cause, resetsAt } = stop;
  const limit = stop.limit + (stop.raised ?? 0);
  const name = `The budget ${budgetId} (${scope}, ${period === "total" ? "in total" : `a ${period}`})`;
  const reset =
    resetsAt === null ? "It does not reset." : `It resets at ${new Date(resetsAt).toISOString()}.`;
  if (cause === "overrun")
    return `${name} is stopped, because a call used more than it had reserved. Put the budget again to go on. ${reset}`;
  return `${name} has no room for this call: of ${limit} ${unit}, ${spent} are spent and ${leased} are leased, and the call may need ${needed}. ${reset}`;
}
