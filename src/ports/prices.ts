/** Prices: integer micro-dollars per million tokens of a route, from a versioned table. */
import type { Price } from "#kernel/reservation.ts";

export interface RoutePrice extends Price {
  readonly version: string;
  readonly cachedInputMicrosPerMillion: number;
}
export interface Prices {
  /** Null where nothing is known: such calls cost 0 and carry no price version. */
  price(route: string): RoutePrice | null;
}
