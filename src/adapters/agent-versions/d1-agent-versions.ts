/** AgentVersions in D1 through drizzle. Rules and contract are in #ports/agent-versions.ts. */
import { and, asc, desc, eq, isNotNull, isNull, lt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type {
  AgentKey,
  AgentVersion,
  AgentVersions,
  NewAgentVersion,
  VersionKey,
  VersionPosition,
} from "#ports/agent-versions.ts";
import type { AgentName, TenantId } from "#shared/ids.ts";
import { agentVersions } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";
import { invariant } from "#shared/exhaustive.ts";
import { trusted } from "#shared/ids.ts";
import { canonicalJson, type Json } from "#shared/json.ts";

export class D1AgentVersions implements AgentVersions {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async store(version: NewAgentVersion): Promise<AgentVersion> {
    // Canonical, so that the stored text is what the definition is the hash of.
    const manifest = canonicalJson(version.manifest as unknown as Json);
    const [, rows] = await attempt(() =>
      this.#db.batch([
        this.#db
          .insert(agentVersions)
          .values({ ...version, manifest })
          .onConflictDoNothing(),
        this.#db.select().from(agentVersions).where(at(version)),
      ]),
    );
    const [row] = rows;
    invariant(row !== undefined, "a stored version can be read in the same batch");
    return toVersion(row);
  }

  async get(key: VersionKey): Promise<AgentVersion | null> {
    const [row] = await attempt(() => this.#db.select().from(agentVersions).where(at(key)));
    return row === undefined ? null : toVersion(row);
  }

  async promoted(key: AgentKey): Promise<AgentVersion | null> {
    const [row] = await attempt(() =>
      this.#db
        .select()
        .from(agentVersions)
        .where(and(of(key), isNotNull(agentVersions.promotedAt)))
        .limit(1),
    );
    return row === undefined ? null : toVersion(row);
  }

  async listPromoted(tenant: TenantId, limit: number): Promise<readonly AgentVersion[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(agentVersions)
        .where(and(eq(agentVersions.tenant, tenant), isNotNull(agentVersions.promotedAt)))
        .orderBy(asc(agentVersions.agent))
        .limit(limit),
    );
    return rows.map(toVersion);
  }

  async list(
    query: AgentKey & { readonly after: VersionPosition | null; readonly limit: number },
  ): Promise<readonly AgentVersion[]> {
    const { after, limit } = query;
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(agentVersions)
        .where(and(of(query), after === null ? undefined : olderThan(after)))
        .orderBy(desc(agentVersions.createdAt), desc(agentVersions.definition))
        .limit(limit),
    );
    return rows.map(toVersion);
  }

  /** One statement, so that no moment has two promoted versions, or none between two. */
  async promote(key: VersionKey, now: number): Promise<void> {
    const { tenant, agent, definition } = key;
    const isChosen = sql`${agentVersions.definition} = ${definition}`;
    const canBeChosen = sql`exists (select 1 from ${agentVersions} as chosen where chosen.tenant = ${tenant} and chosen.agent = ${agent} and chosen.definition = ${definition} and chosen.retired_at is null)`;
    await attempt(() =>
      this.#db
        .update(agentVersions)
        .set({ promotedAt: sql`case when ${isChosen} then ${now} else null end` })
        .where(
          and(
            of(key),
            or(isChosen, isNotNull(agentVersions.promotedAt)),
            // What is promoted already keeps its time.
            sql`not (${isChosen} and ${isNotNull(agentVersions.promotedAt)})`,
            canBeChosen,
          ),
        ),
    );
  }

  async retire(key: VersionKey, now: number): Promise<void> {
    await attempt(() =>
      this.#db
        .update(agentVersions)
        .set({ retiredAt: now, promotedAt: null })
        .where(and(at(key), isNull(agentVersions.retiredAt))),
    );
  }
}

function of({ tenant, agent }: AgentKey) {
  return and(eq(agentVersions.tenant, tenant), eq(agentVersions.agent, agent));
}

function at(key: VersionKey) {
  return and(of(key), eq(agentVersions.definition, key.definition));
}

function olderThan({ createdAt, definition }: VersionPosition) {
  return or(
    lt(agentVersions.createdAt, createdAt),
    and(eq(agentVersions.createdAt, createdAt), lt(agentVersions.definition, definition)),
  );
}

function toVersion(row: typeof agentVersions.$inferSelect): AgentVersion {
  return {
    ...row,
    tenant: trusted<TenantId>(row.tenant),
    agent: trusted<AgentName>(row.agent),
    // Whoever runs it compares its hash first.
    manifest: JSON.parse(row.manifest) as AgentVersion["manifest"],
  };
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
