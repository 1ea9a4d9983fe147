/**
 * Prices: what a route costs, in integer micro-dollars per million tokens, under a version that every event names (B20).
 *
 * Synchronous, because the kernel asks in the middle of an append; whatever has to be fetched is fetched by `refresh`.
 */
import type { Price } from "#kernel/reservation.ts";
import type { TenantId } from "#shared/ids.ts";

export interface RoutePrice extends Price {
  /** A label: goes into event headers. */
  readonly version: string;
}
export interface Prices {
  /** Null where nobody knows: such a call is `unpriced`, and a money cap or budget refuses it (B23). */
  price(route: string): RoutePrice | null;
  /**
   * Before work that calls models: what `price` answers afterwards is at most a minute old. Null where that holds already.
   * Never rejects.
   */
  refresh?(): Promise<void> | null;
}
/** The prices of each tenant: the deployment's table under the tenant's own overrides. */
export type TenantPrices = (tenant: TenantId) => Prices;
