/** AnchorStore and AnchorIndex in D1 through drizzle. Rules and contract are in #ports/anchors.ts. */
import { and, asc, between, desc, eq, gt, lte, max, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { Anchor, AnchorIndex, AnchorRange, AnchorStore } from "#ports/anchors.ts";
import { anchors as table } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";
import { invariant } from "#shared/exhaustive.ts";

/** Statements of one batch: D1 takes them in one transaction and one round trip. */
const BATCH = 50;

export class D1AnchorStore implements AnchorStore, AnchorIndex {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async put(anchors: readonly Anchor[]): Promise<readonly Anchor[]> {
    const standing: Anchor[] = [];
    for (let at = 0; at < anchors.length; at += BATCH) {
      standing.push(...(await this.#putBatch(anchors.slice(at, at + BATCH))));
    }
    return standing;
  }

  async #putBatch([first, ...more]: readonly Anchor[]): Promise<readonly Anchor[]> {
    if (first === undefined) return [];
    const seqs = [first, ...more].map(({ seq }) => seq);
    const [from, to] = [Math.min(...seqs), Math.max(...seqs)];
    const insert = (anchor: Anchor) => this.#db.insert(table).values(anchor).onConflictDoNothing();
    const rows = await attempt(async () => {
      await this.#db.batch([insert(first), ...more.map(insert)]);
      return this.#range({ ...first, from, to });
    });
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    return seqs.map((seq) => {
      const row = bySeq.get(seq);
      invariant(row !== undefined, "what was put stands, or what stood before it");
      return row;
    });
  }

  #range({ tenant, logId, from, to }: Omit<AnchorRange, "limit">) {
    return this.#db
      .select()
      .from(table)
      .where(and(eq(table.tenant, tenant), eq(table.logId, logId), between(table.seq, from, to)))
      .orderBy(asc(table.seq))
      .$dynamic();
  }

  async list(range: AnchorRange): Promise<readonly Anchor[]> {
    return attempt(() => this.#range(range).limit(range.limit));
  }

  async newest({
    tenant,
    logId,
    atMost,
  }: Parameters<AnchorStore["newest"]>[0]): Promise<Anchor | null> {
    const [row] = await attempt(() =>
      this.#db
        .select()
        .from(table)
        .where(and(eq(table.tenant, tenant), eq(table.logId, logId), lte(table.seq, atMost)))
        .orderBy(desc(table.seq))
        .limit(1),
    );
    return row ?? null;
  }

  /** SQLite gives the other columns of the row that holds the maximum. */
  async logs({
    tenant,
    limit,
    after,
  }: Parameters<AnchorIndex["logs"]>[0]): Promise<readonly Anchor[]> {
    return attempt(() =>
      this.#db
        .select(NEWEST)
        .from(table)
        .where(and(eq(table.tenant, tenant), after === null ? undefined : gt(table.logId, after)))
        .groupBy(table.logId)
        .orderBy(asc(table.logId))
        .limit(limit),
    );
  }

  async ofThread({
    tenant,
    agent,
    thread,
  }: Parameters<AnchorIndex["ofThread"]>[0]): Promise<readonly Anchor[]> {
    return attempt(() =>
      this.#db
        .select(NEWEST)
        .from(table)
        .where(and(eq(table.tenant, tenant), eq(table.agent, agent), eq(table.thread, thread)))
        .groupBy(table.logId)
        .orderBy(asc(table.logId)),
    );
  }
}

const NEWEST = {
  tenant: table.tenant,
  logId: table.logId,
  seq: sql<number>`${max(table.seq)}`,
  agent: table.agent,
  thread: table.thread,
  hash: table.hash,
  at: table.at,
  keyId: table.keyId,
  signature: table.signature,
};

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
