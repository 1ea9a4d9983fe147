/** WebhookStore in D1 through drizzle. Contract is in #ports/webhook-store.ts. */
import { and, asc, desc, eq, lte, min } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import { webhookDeliveries as deliveries, webhooks } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";
import {
  WEBHOOK_TYPES,
  type Delivery,
  type DeliveryKey,
  type DeliveryProgress,
  type DeliveryState,
  type Webhook,
  type WebhookChange,
  type WebhookStore,
} from "#ports/webhook-store.ts";
import { trusted, type TenantId } from "#shared/ids.ts";

const MAX_LISTED = 200;
/** Sent together: a thread with more comes back for them. */
const MAX_DUE = 20;
/** Rows of one statement: D1 takes 100 parameters. */
const ROWS = 7;

export class D1WebhookStore implements WebhookStore {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async add({ types, ...webhook }: Webhook): Promise<void> {
    await attempt(() => this.#db.insert(webhooks).values({ ...webhook, types: types.join(" ") }));
  }

  async list(tenant: TenantId): Promise<readonly Webhook[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(webhooks)
        .where(eq(webhooks.tenant, tenant))
        .orderBy(asc(webhooks.createdAt), asc(webhooks.id))
        .limit(MAX_LISTED),
    );
    return rows.map(toWebhook);
  }

  async find(tenant: TenantId, id: string): Promise<Webhook | null> {
    const [row] = await attempt(() => this.#db.select().from(webhooks).where(one(tenant, id)));
    return row === undefined ? null : toWebhook(row);
  }

  async remove(tenant: TenantId, id: string): Promise<boolean> {
    const [removed] = await attempt(() =>
      this.#db.batch([
        this.#db.delete(webhooks).where(one(tenant, id)).returning({ id: webhooks.id }),
        this.#db
          .delete(deliveries)
          .where(and(eq(deliveries.tenant, tenant), eq(deliveries.webhook, id))),
      ]),
    );
    return removed.length > 0;
  }

  async change(tenant: TenantId, id: string, change: WebhookChange): Promise<boolean> {
    const rows = await attempt(() =>
      this.#db.update(webhooks).set(change).where(one(tenant, id)).returning({ id: webhooks.id }),
    );
    return rows.length > 0;
  }

  async put(all: readonly Delivery[]): Promise<void> {
    for (let from = 0; from < all.length; from += ROWS) {
      const rows = all.slice(from, from + ROWS);
      await attempt(() => this.#db.insert(deliveries).values(rows).onConflictDoNothing());
    }
  }

  async due(
    { tenant, log }: Pick<Delivery, "tenant" | "log">,
    now: number,
  ): Promise<readonly Delivery[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(deliveries)
        .where(
          and(eq(deliveries.tenant, tenant), eq(deliveries.log, log), lte(deliveries.nextAt, now)),
        )
        .orderBy(asc(deliveries.seq), asc(deliveries.webhook))
        .limit(MAX_DUE),
    );
    return rows.map(toDelivery);
  }

  async nextAt({ tenant, log }: Pick<Delivery, "tenant" | "log">): Promise<number | null> {
    const [row] = await attempt(() =>
      this.#db
        .select({ at: min(deliveries.nextAt) })
        .from(deliveries)
        .where(and(eq(deliveries.tenant, tenant), eq(deliveries.log, log))),
    );
    return row?.at ?? null;
  }

  async progress(key: DeliveryKey, progress: DeliveryProgress): Promise<void> {
    const { state, attempts, nextAt, lastStatus, lastError } = progress;
    await attempt(() =>
      this.#db
        .update(deliveries)
        .set({ state, attempts, nextAt, lastStatus, lastError })
        .where(of(key)),
    );
  }

  async delivery(key: DeliveryKey): Promise<Delivery | null> {
    const [row] = await attempt(() => this.#db.select().from(deliveries).where(of(key)));
    return row === undefined ? null : toDelivery(row);
  }

  async deliveries(
    { tenant, webhook }: Pick<Delivery, "tenant" | "webhook">,
    state: DeliveryState | null,
  ): Promise<readonly Delivery[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(deliveries)
        .where(
          and(
            eq(deliveries.tenant, tenant),
            eq(deliveries.webhook, webhook),
            ...(state === null ? [] : [eq(deliveries.state, state)]),
          ),
        )
        .orderBy(desc(deliveries.createdAt), desc(deliveries.message))
        .limit(MAX_LISTED),
    );
    return rows.map(toDelivery);
  }
}

function one(tenant: TenantId, id: string) {
  return and(eq(webhooks.tenant, tenant), eq(webhooks.id, id));
}

function of({ tenant, webhook, message }: DeliveryKey) {
  return and(
    eq(deliveries.tenant, tenant),
    eq(deliveries.webhook, webhook),
    eq(deliveries.message, message),
  );
}

function toWebhook({ tenant, types, ...row }: typeof webhooks.$inferSelect): Webhook {
  const told = new Set(types.split(" "));
  return {
    ...row,
    tenant: trusted(tenant),
    types: WEBHOOK_TYPES.filter((type) => told.has(type)),
  };
}

function toDelivery({ tenant, type, state, ...row }: typeof deliveries.$inferSelect): Delivery {
  return {
    ...row,
    tenant: trusted(tenant),
    type: WEBHOOK_TYPES.find((known) => known === type) ?? "run.completed",
    state: state === "waiting" || state === "delivered" ? state : "dead",
  };
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
