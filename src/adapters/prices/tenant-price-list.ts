/**
 * Prices of one tenant: its own before the deployment's, remembered for at most a minute (B24).
 *
 * They are read again ahead of time, after half a minute, while the old ones are still good: a caller waits only where
 * nothing was read for a whole minute. When D1 does not answer, what is known holds on; an event names its price's version
 * either way.
 */
import type { Clock } from "#ports/clock.ts";
import type { PriceOverrides } from "#ports/price-overrides.ts";
import type { Prices, RoutePrice } from "#ports/prices.ts";
import type { TenantId } from "#shared/ids.ts";

export const PRICES_TTL_MS = 60_000;
const EARLY_MS = 30_000;
/** After a failure: soon, but not with every step. */
const RETRY_MS = 5_000;

export interface TenantPriceListDeps {
  readonly tenant: TenantId;
  readonly table: Prices;
  readonly overrides: Pick<PriceOverrides, "current">;
  readonly clock: Clock;
}

export class TenantPriceList implements Prices {
  readonly #deps: TenantPriceListDeps;
  #own: ReadonlyMap<string, RoutePrice> = new Map();
  /** When the read began that the prices come from, and the last one that was tried. */
  #readAt = -Infinity;
  #triedAt = -Infinity;
  #reading: Promise<void> | null = null;

  constructor(deps: TenantPriceListDeps) {
    this.#deps = deps;
  }

  price(route: string): RoutePrice | null {
    return this.#own.get(route) ?? this.#deps.table.price(route);
  }

  refresh(): Promise<void> | null {
    const now = this.#deps.clock.now();
    const age = now - this.#readAt;
    if (age < EARLY_MS || now - this.#triedAt < RETRY_MS) return null;
    this.#reading ??= this.#read(now);
    return age < PRICES_TTL_MS ? null : this.#reading;
  }

  async #read(now: number): Promise<void> {
    const { tenant, overrides } = this.#deps;
    try {
      const current = await overrides.current(tenant);
      this.#own = new Map(
        current.map(({ route, version, rates }) => [route, { ...rates, version }]),
      );
      this.#readAt = now;
    } catch {
      // Tried again by a later call; until then what is known holds.
    } finally {
      this.#triedAt = now;
      this.#reading = null;
    }
  }
}
