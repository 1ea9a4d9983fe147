/** ApprovalInbox in D1 through drizzle. Rules and contract are in #ports/approval-inbox.ts. */
import { and, desc, eq, isNull, lt, or } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type {
  ApprovalInbox,
  InboxDecision,
  InboxEntry,
  InboxPosition,
  InboxQuery,
} from "#ports/approval-inbox.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { approvals } from "#db/d1-schema.ts";
import { toUnavailable } from "#db/query-failure.ts";

export class D1ApprovalInbox implements ApprovalInbox {
  readonly #db: DrizzleD1Database;

  constructor(database: D1Database) {
    this.#db = drizzle(database);
  }

  async opened(entry: InboxEntry): Promise<void> {
    await attempt(() => this.#db.insert(approvals).values(entry).onConflictDoNothing());
  }

  async closed({ tenant, approval, ...decided }: InboxDecision): Promise<void> {
    await attempt(() =>
      this.#db
        .update(approvals)
        .set(decided)
        .where(
          and(
            eq(approvals.tenant, tenant),
            eq(approvals.approval, approval),
            isNull(approvals.decidedAt),
          ),
        ),
    );
  }

  async list({ tenant, visible, state, after, limit }: InboxQuery): Promise<readonly InboxEntry[]> {
    const rows = await attempt(() =>
      this.#db
        .select()
        .from(approvals)
        .where(
          and(
            eq(approvals.tenant, tenant),
            visible.to === "owner" ? eq(approvals.owner, visible.owner) : undefined,
            state === "open" ? isNull(approvals.decidedAt) : undefined,
            after === null ? undefined : olderThan(after),
          ),
        )
        .orderBy(desc(approvals.requestedAt), desc(approvals.approval))
        .limit(limit),
    );
    return rows.map(toEntry);
  }
}

function olderThan({ requestedAt, approval }: InboxPosition) {
  return or(
    lt(approvals.requestedAt, requestedAt),
    and(eq(approvals.requestedAt, requestedAt), lt(approvals.approval, approval)),
  );
}

function toEntry(row: typeof approvals.$inferSelect): InboxEntry {
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
