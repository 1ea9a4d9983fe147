/** RunIndex in D1 through drizzle. Rules and contract are in #ports/run-index.ts. */
import { and, count, desc, eq, gt, inArray, lt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { RunFilter, RunIndex, RunPosition, RunRecord } from "#ports/run-index.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { runIndex } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";

export class D1RunIndex implements RunIndex {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async put(record: RunRecord): Promise<void> {
    const { status, at, seq } = record;
    await attempt(() =>
      this.#db
        .insert(runIndex)
        .values(record)
        .onConflictDoUpdate({
          target: [runIndex.tenant, runIndex.run],
          set: { status, at, seq },
          setWhere: sql`excluded.seq > ${runIndex.seq}`,
        }),
    );
  }

  async list({
    after,
    limit,
    ...filter
  }: Parameters<RunIndex["list"]>[0]): Promise<readonly RunRecord[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(runIndex)
        .where(and(matches(filter), after === null ? undefined : isBehind(after)))
        .orderBy(desc(runIndex.at), desc(runIndex.run))
        .limit(limit),
    );
    return rows.map(toRecord);
  }

  async count(filter: RunFilter): Promise<number> {
    const [row] = await attempt(() =>
      this.#db.select({ n: count() }).from(runIndex).where(matches(filter)),
    );
    return row?.n ?? 0;
  }
}

function matches({ tenant, visible, agent, statuses, since }: RunFilter) {
  return and(
    eq(runIndex.tenant, tenant),
    eq(runIndex.agent, agent),
    visible.to === "owner" ? eq(runIndex.owner, visible.owner) : undefined,
    statuses === null ? undefined : inArray(runIndex.status, [...statuses]),
    since === null ? undefined : gt(runIndex.at, since),
  );
}

function isBehind({ at, run }: RunPosition) {
  return or(lt(runIndex.at, at), and(eq(runIndex.at, at), lt(runIndex.run, run)));
}

function toRecord(row: typeof runIndex.$inferSelect): RunRecord {
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
