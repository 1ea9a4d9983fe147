/** HookStore in D1 through drizzle. Contract is in #ports/hook-store.ts. */
import { and, asc, eq, inArray, lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import { hookEvents, hooks } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";
import {
  EVENT_DAYS,
  type Hook,
  type HookEvent,
  type HookStore,
  type HookThread,
} from "#ports/hook-store.ts";
import { trusted, type TenantId } from "#shared/ids.ts";
import { HOOK_SCHEMES } from "#shared/webhook-signatures.ts";

const DAY_MS = 86_400_000;
const MAX_LISTED = 200;
/** Forgotten with each event that comes, so that no other work has to be done for it. */
const MAX_FORGOTTEN = 20;

export class D1HookStore implements HookStore {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async add({ thread, ...hook }: Hook): Promise<void> {
    await attempt(() => this.#db.insert(hooks).values({ ...hook, thread: JSON.stringify(thread) }));
  }

  async list(tenant: TenantId): Promise<readonly Hook[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(hooks)
        .where(eq(hooks.tenant, tenant))
        .orderBy(asc(hooks.createdAt), asc(hooks.id))
        .limit(MAX_LISTED),
    );
    return rows.map(toHook);
  }

  async find(id: string): Promise<Hook | null> {
    const [row] = await attempt(() => this.#db.select().from(hooks).where(eq(hooks.id, id)));
    return row === undefined ? null : toHook(row);
  }

  async remove(tenant: TenantId, id: string): Promise<boolean> {
    const rows = await attempt(() =>
      this.#db
        .delete(hooks)
        .where(and(eq(hooks.tenant, tenant), eq(hooks.id, id)))
        .returning({ id: hooks.id }),
    );
    return rows.length > 0;
  }

  async rotate({
    tenant,
    id,
    secret,
    previous,
    previousUntil,
  }: Pick<Hook, "tenant" | "id" | "secret" | "previous" | "previousUntil">): Promise<boolean> {
    const rows = await attempt(() =>
      this.#db
        .update(hooks)
        .set({ secret, previous, previousUntil })
        .where(and(eq(hooks.tenant, tenant), eq(hooks.id, id)))
        .returning({ id: hooks.id }),
    );
    return rows.length > 0;
  }

  async claim({ isDelivered, ...event }: HookEvent): Promise<HookEvent> {
    const rows = await attempt(() =>
      this.#db.batch([
        this.#db
          .insert(hookEvents)
          .values({ ...event, delivered: isDelivered ? 1 : 0 })
          .onConflictDoNothing(),
        this.#db.select().from(hookEvents).where(of(event)),
        this.#db.delete(hookEvents).where(
          inArray(
            hookEvents.event,
            this.#db
              .select({ event: hookEvents.event })
              .from(hookEvents)
              .where(lt(hookEvents.receivedAt, event.receivedAt - EVENT_DAYS * DAY_MS))
              .limit(MAX_FORGOTTEN),
          ),
        ),
      ]),
    );
    const [row] = rows[1];
    if (row === undefined) return { ...event, isDelivered };
    const { delivered, ...known } = row;
    return {
      ...known,
      tenant: trusted(known.tenant),
      agent: trusted(known.agent),
      thread: trusted(known.thread),
      isDelivered: delivered === 1,
    };
  }

  async delivered(event: Pick<HookEvent, "tenant" | "app" | "event">): Promise<void> {
    await attempt(() => this.#db.update(hookEvents).set({ delivered: 1 }).where(of(event)));
  }
}

function of({ tenant, app, event }: Pick<HookEvent, "tenant" | "app" | "event">) {
  return and(eq(hookEvents.tenant, tenant), eq(hookEvents.app, app), eq(hookEvents.event, event));
}

function toHook({ tenant, agent, thread, scheme, ...row }: typeof hooks.$inferSelect): Hook {
  return {
    ...row,
    tenant: trusted(tenant),
    agent: trusted(agent),
    // Written by `add` only.
    thread: JSON.parse(thread) as HookThread,
    scheme: HOOK_SCHEMES.find((known) => known === scheme) ?? "standard",
  };
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
