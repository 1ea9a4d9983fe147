/**
 * MetricsStore in D1 through drizzle. Contract is in #ports/metrics.ts.
 *
 * A batch of D1 is one transaction. Each of its inserts looks at the log's cursor itself, so a batch whose cursor has
 * moved on since it was read adds nothing at all.
 */
import { and, asc, count, eq, gt, isNull, sql, type SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type {
  AgentCounter,
  AgentHealth,
  MetricsBatch,
  MetricsSnapshot,
  MetricsStore,
  StalledThread,
  ThreadHealth,
} from "#ports/metrics.ts";
import { approvals, metrics, metricsCursors, threadHealth } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";
import type { TenantId } from "#shared/ids.ts";

const MAX_STALLED = 20;
const KEYS = [metrics.tenant, metrics.agent, metrics.counter, metrics.label];

export class D1MetricsStore implements MetricsStore {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async counted(tenant: TenantId, logId: string): Promise<number> {
    const [row] = await attempt(() =>
      this.#db
        .select({ seq: metricsCursors.seq })
        .from(metricsCursors)
        .where(cursorOf(tenant, logId)),
    );
    return row?.seq ?? 0;
  }

  async add(batch: MetricsBatch): Promise<boolean> {
    const { tenant, logId: log, from, to, entries } = batch;
    const results = await attempt(() =>
      this.#db.batch([
        this.#db.insert(metricsCursors).values({ tenant, log, seq: 0 }).onConflictDoNothing(),
        ...entries.map((entry) => this.#upsert(batch, entry)),
        this.#db
          .update(metricsCursors)
          .set({ seq: to })
          .where(and(cursorOf(tenant, log), eq(metricsCursors.seq, from)))
          .returning({ seq: metricsCursors.seq }),
      ]),
    );
    // The last statement is the one that answers rows.
    return (results.at(-1) as readonly unknown[]).length === 1;
  }

  #upsert(
    { tenant, agent, logId, from }: MetricsBatch,
    { counter, label, value }: MetricsBatch["entries"][number],
  ) {
    const counted = sql`(select ${metricsCursors.seq} from ${metricsCursors} where ${cursorOf(tenant, logId)})`;
    return this.#db
      .insert(metrics)
      .select(
        sql`select ${tenant}, ${agent}, ${counter}, ${label}, ${value} where ${counted} = ${from}`,
      )
      .onConflictDoUpdate({
        target: KEYS,
        set: { value: sql`${metrics.value} + excluded.value` },
      });
  }

  async report({ address, logId: log, ...health }: ThreadHealth): Promise<void> {
    const { tenant, agent, thread } = address;
    await attempt(() =>
      this.#db
        .insert(threadHealth)
        .values({ tenant, log, agent, thread, ...health })
        .onConflictDoUpdate({
          target: [threadHealth.tenant, threadHealth.log],
          set: health,
          setWhere: sql`excluded.wakes >= ${threadHealth.wakes}`,
        }),
    );
  }

  async read(tenant: TenantId, hour: number): Promise<MetricsSnapshot> {
    const [counters, openApprovals, health, stalled] = await Promise.all([
      this.#counters(tenant),
      this.#openApprovals(tenant),
      this.#health(tenant, hour),
      this.#stalled(tenant),
    ]);
    return { counters, openApprovals, health, stalled };
  }

  #counters(tenant: TenantId): Promise<readonly AgentCounter[]> {
    const { agent, counter, label, value } = metrics;
    return attempt(() =>
      this.#db
        .select({ agent, counter, label, value })
        .from(metrics)
        .where(eq(metrics.tenant, tenant))
        .orderBy(asc(counter), asc(agent), asc(label)),
    );
  }

  #openApprovals(tenant: TenantId): Promise<MetricsSnapshot["openApprovals"]> {
    const { agent } = approvals;
    return attempt(() =>
      this.#db
        .select({ agent, open: count() })
        .from(approvals)
        .where(and(eq(approvals.tenant, tenant), isNull(approvals.decidedAt)))
        .groupBy(agent)
        .orderBy(asc(agent)),
    );
  }

  #health(tenant: TenantId, hour: number): Promise<readonly AgentHealth[]> {
    const { agent, wakes, wakesInHour, trips, stalledWakes, lagEvents, lagSince } = threadHealth;
    const inHour = sql`case when ${threadHealth.hour} = ${hour} then ${wakesInHour} else 0 end`;
    return attempt(() =>
      this.#db
        .select({
          agent,
          wakes: sql<number>`sum(${wakes})`,
          wakesThisHour: sql<number>`sum(${inHour})`,
          busiestThisHour: sql<number>`max(${inHour})`,
          trips: sql<number>`sum(${trips})`,
          stalledThreads: sql<number>`sum(${stalledWakes} > 0)`,
          laggingThreads: sql<number>`sum(${lagEvents} > 0)`,
          lagEvents: sql<number>`sum(${lagEvents})`,
          lagSince: sql<number | null>`min(${lagSince})`,
        })
        .from(threadHealth)
        .where(eq(threadHealth.tenant, tenant))
        .groupBy(agent)
        .orderBy(asc(agent)),
    );
  }

  async #stalled(tenant: TenantId): Promise<readonly StalledThread[]> {
    const { agent, thread, stalledWakes, stalledSince } = threadHealth;
    return attempt(() =>
      this.#db
        .select({
          agent,
          thread,
          wakes: stalledWakes,
          since: sql<number>`coalesce(${stalledSince}, 0)`,
        })
        .from(threadHealth)
        .where(and(eq(threadHealth.tenant, tenant), gt(stalledWakes, 0)))
        .orderBy(asc(stalledSince), asc(agent), asc(thread))
        .limit(MAX_STALLED),
    );
  }
}

function cursorOf(tenant: TenantId, logId: string): SQL | undefined {
  return and(eq(metricsCursors.tenant, tenant), eq(metricsCursors.log, logId));
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
