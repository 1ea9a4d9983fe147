/**
 * SpendStore in D1 through drizzle. Contract is in #ports/spend.ts.
 *
 * A batch of D1 is one transaction. Each of its inserts looks at the log's cursor itself, so a batch whose cursor has
 * moved on since it was read adds nothing at all.
 */
import { and, asc, eq, gte, lte, sql, type SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { BatchItem } from "drizzle-orm/batch";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type {
  SpendBatch,
  SpendDimension,
  SpendGroup,
  SpendPlace,
  SpendQuery,
  SpendStore,
} from "#ports/spend.ts";
import { spend, spendCursors } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";
import type { TenantId } from "#shared/ids.ts";

type SpendEntry = SpendBatch["entries"][number];

const COUNTS = [
  "calls",
  "unpriced",
  "micros",
  "input",
  "cachedInput",
  "cacheWrite",
  "audioInput",
  "output",
  "reasoning",
  "audioOutput",
] as const;

const KEYS = [
  spend.tenant,
  spend.day,
  spend.agent,
  spend.thread,
  spend.owner,
  spend.route,
  spend.tool,
  spend.kind,
];
const SUMS = Object.fromEntries(
  COUNTS.map((count) => {
    const column = sql.identifier(spend[count].name);
    return [count, sql`${spend[count]} + excluded.${column}`];
  }),
);

export class D1SpendStore implements SpendStore {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async counted(tenant: TenantId, logId: string): Promise<number> {
    const [row] = await attempt(() =>
      this.#db.select({ seq: spendCursors.seq }).from(spendCursors).where(cursorOf(tenant, logId)),
    );
    return row?.seq ?? 0;
  }

  async add(batch: SpendBatch): Promise<boolean> {
    return this.#moving(batch, []);
  }

  async entries(place: SpendPlace): Promise<readonly SpendEntry[]> {
    const rows = await attempt(() => this.#db.select().from(spend).where(rowsOf(place)));
    return rows.map(({ tenant: _t, agent: _a, thread: _th, owner: _o, ...entry }) => entry);
  }

  async replace(batch: SpendBatch): Promise<boolean> {
    const rows = and(rowsOf(batch.place), isCounted(batch));
    return this.#moving(batch, [this.#db.delete(spend).where(rows)]);
  }

  /** What goes before, the rows and the cursor, in one transaction. */
  async #moving(batch: SpendBatch, before: readonly BatchItem<"sqlite">[]): Promise<boolean> {
    const { place, logId: log, from, to, entries } = batch;
    const { tenant } = place;
    const results = await attempt(() =>
      this.#db.batch([
        this.#db.insert(spendCursors).values({ tenant, log, seq: 0 }).onConflictDoNothing(),
        ...before,
        ...entries.map((entry) => this.#upsert(batch, entry)),
        this.#db
          .update(spendCursors)
          .set({ seq: to })
          .where(and(cursorOf(tenant, log), eq(spendCursors.seq, from)))
          .returning({ seq: spendCursors.seq }),
      ]),
    );
    // The last statement is the one that answers rows.
    return (results.at(-1) as readonly unknown[]).length === 1;
  }

  #upsert(batch: SpendBatch, entry: SpendEntry) {
    const { tenant, agent, thread, owner } = batch.place;
    const { day, route, tool, kind } = entry;
    // In the order of the table's columns.
    const keys = [tenant, day, agent, thread, owner, route, tool, kind];
    const values = list([...keys, ...COUNTS.map((count) => entry[count])]);
    return this.#db
      .insert(spend)
      .select(sql`select ${values} where ${isCounted(batch)}`)
      .onConflictDoUpdate({ target: KEYS, set: SUMS });
  }

  async sum(query: SpendQuery): Promise<readonly SpendGroup[]> {
    const columns = query.groupBy.map((dimension) => spend[dimension]);
    const total = (count: (typeof COUNTS)[number]) =>
      sql<number>`sum(${spend[count]})`.as(`sum_${count}`);
    const of = (kind: "recovery" | "estimated") =>
      sql<number>`sum(case when ${spend.kind} = ${kind} then ${spend.micros} else 0 end)`.as(kind);
    const rows = await attempt(() =>
      this.#db
        .select({
          ...Object.fromEntries(columns.map((column, at) => [`group_${at}`, column])),
          ...Object.fromEntries(COUNTS.map((count) => [count, total(count)])),
          recoveryMicros: of("recovery"),
          estimatedMicros: of("estimated"),
        })
        .from(spend)
        .where(and(...conditions(query)))
        .groupBy(...columns)
        .orderBy(...columns.map((column) => asc(column)))
        .limit(query.limit),
    );
    return rows.map((row) => toGroup(row, query.groupBy));
  }
}

function isCounted({ place, logId, from }: SpendBatch): SQL {
  return sql`(select ${spendCursors.seq} from ${spendCursors} where ${cursorOf(place.tenant, logId)}) = ${from}`;
}

function list(values: readonly (string | number)[]): SQL {
  return sql.join(
    values.map((value) => sql`${value}`),
    sql`, `,
  );
}

function conditions(query: SpendQuery): readonly (SQL | undefined)[] {
  const { tenant, visible, from, to, where, groupBy, after } = query;
  return [
    eq(spend.tenant, tenant),
    visible.to === "owner" ? eq(spend.owner, visible.owner) : undefined,
    from === null ? undefined : gte(spend.day, from),
    to === null ? undefined : lte(spend.day, to),
    where.agent === undefined ? undefined : eq(spend.agent, where.agent),
    where.thread === undefined ? undefined : eq(spend.thread, where.thread),
    where.owner === undefined ? undefined : eq(spend.owner, where.owner),
    after === null ? undefined : behind(groupBy, after),
  ];
}

/** Rows of groups behind this one, in the order of their values. */
function behind(groupBy: readonly SpendDimension[], after: readonly string[]): SQL {
  const columns = sql.join(
    groupBy.map((dimension) => sql`${spend[dimension]}`),
    sql`, `,
  );
  return sql`(${columns}) > (${list(after)})`;
}

function toGroup(
  row: Readonly<Record<string, unknown>>,
  groupBy: readonly SpendDimension[],
): SpendGroup {
  const counts = [...COUNTS, "recoveryMicros", "estimatedMicros"] as const;
  return {
    values: groupBy.map((_, at) => String(row[`group_${at}`])),
    // The names are those of the counts, and the sums of integers are integers.
    ...(Object.fromEntries(counts.map((count) => [count, Number(row[count])])) as unknown as Omit<
      SpendGroup,
      "values"
    >),
  };
}

function cursorOf(tenant: TenantId, logId: string): SQL | undefined {
  return and(eq(spendCursors.tenant, tenant), eq(spendCursors.log, logId));
}

function rowsOf({ tenant, agent, thread }: SpendPlace): SQL | undefined {
  return and(eq(spend.tenant, tenant), eq(spend.agent, agent), eq(spend.thread, thread));
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
