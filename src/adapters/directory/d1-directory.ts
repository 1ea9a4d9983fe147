/**
 * Directory in D1 through drizzle. Owns nothing but the queries; rules and contract are in #ports/directory.ts.
 *
 * A failing D1 becomes AppError `unavailable`, so that no SQL text reaches a client.
 */
import { and, desc, eq, lt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type {
  Directory,
  ThreadPosition,
  ThreadQuery,
  ThreadRecord,
  ThreadTouch,
} from "#ports/directory.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { invariant } from "#shared/exhaustive.ts";
import { trusted } from "#shared/ids.ts";
import { threads } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";

export class D1Directory implements Directory {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async register(record: ThreadRecord): Promise<ThreadRecord> {
    const [, rows] = await attempt(() =>
      this.#db.batch([
        this.#db.insert(threads).values(record).onConflictDoNothing(),
        this.#db
          .select()
          .from(threads)
          .where(at(record.tenant, record.agent, record.thread)),
      ]),
    );
    const [row] = rows;
    invariant(row !== undefined, "a registered thread can be read in the same batch");
    return toRecord(row);
  }

  async get(tenant: TenantId, agent: AgentName, thread: ThreadId): Promise<ThreadRecord | null> {
    const [row] = await attempt(() =>
      this.#db
        .select()
        .from(threads)
        .where(at(tenant, agent, thread)),
    );
    return row === undefined ? null : toRecord(row);
  }

  async list(query: ThreadQuery): Promise<readonly ThreadRecord[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(threads)
        .where(
          and(
            eq(threads.tenant, query.tenant),
            query.visible.to === "owner" ? eq(threads.owner, query.visible.owner) : undefined,
            query.agent === null ? undefined : eq(threads.agent, query.agent),
            query.after === null ? undefined : olderThan(query.after),
          ),
        )
        .orderBy(desc(threads.createdAt), desc(threads.agent), desc(threads.thread))
        .limit(query.limit),
    );
    return rows.map(toRecord);
  }

  async touch(touch: ThreadTouch): Promise<void> {
    await attempt(() =>
      this.#db
        .update(threads)
        .set({
          lastSeq: sql`max(${threads.lastSeq}, ${touch.lastSeq})`,
          updatedAt: sql`max(${threads.updatedAt}, ${touch.at})`,
        })
        .where(at(touch.tenant, touch.agent, touch.thread)),
    );
  }
}

function at(tenant: TenantId, agent: AgentName, thread: ThreadId) {
  return and(eq(threads.tenant, tenant), eq(threads.agent, agent), eq(threads.thread, thread));
}

function olderThan(position: ThreadPosition) {
  const sameTime = eq(threads.createdAt, position.createdAt);
  return or(
    lt(threads.createdAt, position.createdAt),
    and(sameTime, lt(threads.agent, position.agent)),
    and(sameTime, eq(threads.agent, position.agent), lt(threads.thread, position.thread)),
  );
}

function toRecord(row: typeof threads.$inferSelect): ThreadRecord {
  return {
    ...row,
    tenant: trusted<TenantId>(row.tenant),
    agent: trusted<AgentName>(row.agent),
    thread: trusted<ThreadId>(row.thread),
  };
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
