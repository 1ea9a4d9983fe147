/** PriceOverrides in D1 through drizzle. Contract is in #ports/price-overrides.ts. */
import { and, asc, desc, eq, isNotNull, isNull, ne } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { PriceOverride, PriceOverrides } from "#ports/price-overrides.ts";
import { priceOverrides } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";
import { trusted, type TenantId } from "#shared/ids.ts";
import { canonicalJson } from "#shared/json.ts";

type Key = Pick<PriceOverride, "tenant" | "route">;
/** More are a mistake, or a table of its own; all of them are read at once. */
const MAX_CURRENT = 1_000;
const MAX_HISTORY = 100;

export class D1PriceOverrides implements PriceOverrides {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async set({ rates, ...override }: Omit<PriceOverride, "retiredAt">): Promise<void> {
    const { version, createdAt, createdBy } = override;
    const stored = { ...override, rates: canonicalJson({ ...rates }), retiredAt: null };
    await attempt(() =>
      this.#db.batch([
        this.#db
          .update(priceOverrides)
          .set({ retiredAt: createdAt })
          .where(
            and(
              of(override),
              ne(priceOverrides.version, version),
              isNull(priceOverrides.retiredAt),
            ),
          ),
        this.#db.insert(priceOverrides).values(stored).onConflictDoNothing(),
        // One that held before and holds again begins anew.
        this.#db
          .update(priceOverrides)
          .set({ retiredAt: null, createdAt, createdBy })
          .where(
            and(
              of(override),
              eq(priceOverrides.version, version),
              isNotNull(priceOverrides.retiredAt),
            ),
          ),
      ]),
    );
  }

  async retire(key: Key, now: number): Promise<boolean> {
    const rows = await attempt(() =>
      this.#db
        .update(priceOverrides)
        .set({ retiredAt: now })
        .where(and(of(key), isNull(priceOverrides.retiredAt)))
        .returning({ version: priceOverrides.version }),
    );
    return rows.length > 0;
  }

  async current(tenant: TenantId): Promise<readonly PriceOverride[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(priceOverrides)
        .where(and(eq(priceOverrides.tenant, tenant), isNull(priceOverrides.retiredAt)))
        .orderBy(asc(priceOverrides.route))
        .limit(MAX_CURRENT),
    );
    return rows.map(toOverride);
  }

  async history(key: Key): Promise<readonly PriceOverride[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(priceOverrides)
        .where(of(key))
        .orderBy(desc(priceOverrides.createdAt), asc(priceOverrides.version))
        .limit(MAX_HISTORY),
    );
    return rows.map(toOverride);
  }
}

function of({ tenant, route }: Key) {
  return and(eq(priceOverrides.tenant, tenant), eq(priceOverrides.route, route));
}

function toOverride(row: typeof priceOverrides.$inferSelect): PriceOverride {
  return {
    ...row,
    tenant: trusted<TenantId>(row.tenant),
    // Written by `set` only.
    rates: JSON.parse(row.rates) as PriceOverride["rates"],
  };
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
