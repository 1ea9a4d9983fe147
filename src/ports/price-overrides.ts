/**
 * PriceOverrides: a tenant's own prices, which go before the deployment's table (B24).
 *
 * Contract (suite: test/contracts/price-overrides.ts): one price holds for a route at any time; what it replaced stays,
 * because old events name its version.
 */
import type { Price } from "#kernel/reservation.ts";
import type { TenantId } from "#shared/ids.ts";

export interface PriceOverride {
  readonly tenant: TenantId;
  readonly route: string;
  /** Follows from the rates, so that equal prices have equal versions. */
  readonly version: string;
  readonly rates: Price;
  readonly createdAt: number;
  /** Opaque id of who set it. */
  readonly createdBy: string;
  /** Null on the one that holds. */
  readonly retiredAt: number | null;
}

export interface PriceOverrides {
  /** From `createdAt` on in place of the route's price before. Set again as it is, it stays as it is. */
  set(override: Omit<PriceOverride, "retiredAt">): Promise<void>;
  /** Back to the table. False where the route had no price of its own. */
  retire(key: Pick<PriceOverride, "tenant" | "route">, now: number): Promise<boolean>;
  /** Those that hold now, by route. */
  current(tenant: TenantId): Promise<readonly PriceOverride[]>;
  /** Of one route, the newest first: what each version meant. */
  history(key: Pick<PriceOverride, "tenant" | "route">): Promise<readonly PriceOverride[]>;
}
