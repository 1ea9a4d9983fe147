/** RetentionPolicies in D1 through drizzle. Contract is in #ports/retention-policies.ts. */
import { and, asc, desc, eq, inArray } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { RetentionPolicies, RetentionPolicy } from "#ports/retention-policies.ts";
import { retention } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";
import { trusted, type AgentName, type TenantId } from "#shared/ids.ts";

/** Sorts before the name of any agent, and is none. */
const ALL = "";

export class D1RetentionPolicies implements RetentionPolicies {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async set({ agent, ...policy }: RetentionPolicy): Promise<void> {
    const row = { ...policy, agent: agent ?? ALL };
    await attempt(() =>
      this.#db
        .insert(retention)
        .values(row)
        .onConflictDoUpdate({ target: [retention.tenant, retention.agent], set: row }),
    );
  }

  async remove({ tenant, agent }: Pick<RetentionPolicy, "tenant" | "agent">): Promise<boolean> {
    const rows = await attempt(() =>
      this.#db
        .delete(retention)
        .where(and(eq(retention.tenant, tenant), eq(retention.agent, agent ?? ALL)))
        .returning({ agent: retention.agent }),
    );
    return rows.length > 0;
  }

  async list(tenant: TenantId): Promise<readonly RetentionPolicy[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(retention)
        .where(eq(retention.tenant, tenant))
        .orderBy(asc(retention.agent)),
    );
    return rows.map(toPolicy);
  }

  async find(tenant: TenantId, agent: AgentName): Promise<RetentionPolicy | null> {
    const [row] = await attempt(() =>
      this.#db
        .select()
        .from(retention)
        .where(and(eq(retention.tenant, tenant), inArray(retention.agent, [ALL, agent])))
        .orderBy(desc(retention.agent))
        .limit(1),
    );
    return row === undefined ? null : toPolicy(row);
  }
}

function toPolicy({ agent, ...row }: typeof retention.$inferSelect): RetentionPolicy {
  return {
    ...row,
    tenant: trusted<TenantId>(row.tenant),
    agent: agent === ALL ? null : trusted<AgentName>(agent),
  };
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
