/** What a call cost, as its outcome records it; and the refusal of a call that a limit in money cannot judge (B20 to B23). */
import type { Reservation, Settlement } from "#kernel/events.ts";
import { costMicros } from "#kernel/reservation.ts";
import { toTokenUsage, totalTokens } from "#kernel/token-usage.ts";
import type { EventScope } from "#ports/event-log.ts";
import type { Usage } from "#ports/model.ts";
import type { RoutePrice } from "#ports/prices.ts";

export interface PricedCall {
  readonly route: string;
  /** Null: nobody knows. */
  readonly price: RoutePrice | null;
  /** In place of what the provider does not say. */
  readonly estimate: { readonly input: number; readonly output: number };
}

/** What the provider said, and an estimate, marked as such, for what it did not say. */
export function toSettlement(
  usage: Usage | null,
  { route, price, estimate }: PricedCall,
): Settlement {
  const read = toTokenUsage(usage, estimate);
  return {
    costMicros: price === null ? 0 : costMicros(price, read.tokens),
    tokens: totalTokens(read.tokens),
    estimated: read.estimated,
    ...(price === null ? { unpriced: true } : {}),
    usage: read.tokens,
    route,
  };
}

/** How a header says what a settlement cost. What nobody knows is null, never 0. */
export function toCostScope(
  settlement: Settlement,
  { recovery, version }: { readonly recovery: boolean; readonly version: string | null },
): Pick<EventScope, "costMicros" | "costKind" | "priceVersion"> {
  return {
    costMicros: settlement.unpriced === true ? null : settlement.costMicros,
    costKind: recovery ? "recovery" : settlement.estimated ? "estimated" : "normal",
    priceVersion: version,
  };
}

/** Says what a call used above its reservation, where it did: the reservation was no bound (B48). */
export function withOverrun(settlement: Settlement, reserved: Reservation): Settlement {
  const costMicros = Math.max(0, settlement.costMicros - reserved.costMicros);
  const tokens = Math.max(0, settlement.tokens - reserved.tokens);
  return costMicros + tokens === 0
    ? settlement
    : { ...settlement, overrun: { costMicros, tokens } };
}
