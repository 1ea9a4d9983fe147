/** Directory in memory; passes test/contracts/directory.ts. */
import type { Directory, ThreadQuery, ThreadRecord, ThreadTouch } from "#ports/directory.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { toObjectName } from "#shared/ids.ts";

export class MemoryDirectory implements Directory {
  readonly #records = new Map<string, ThreadRecord>();
  /** Calls of any method, so that a test can assert that a request made none. */
  calls = 0;

  async register(record: ThreadRecord): Promise<ThreadRecord> {
    this.calls += 1;
    const name = toObjectName(record);
    const first = this.#records.get(name) ?? record;
    this.#records.set(name, first);
    return first;
  }

  async get(tenant: TenantId, agent: AgentName, thread: ThreadId): Promise<ThreadRecord | null> {
    this.calls += 1;
    return this.#records.get(toObjectName({ tenant, agent, thread })) ?? null;
  }

  async list(query: ThreadQuery): Promise<readonly ThreadRecord[]> {
    this.calls += 1;
    const { visible, after } = query;
    return [...this.#records.values()]
      .filter((record) => record.tenant === query.tenant)
      .filter((record) => visible.to === "tenant" || record.owner === visible.owner)
      .filter((record) => query.agent === null || record.agent === query.agent)
      .filter((record) => after === null || newestFirst(after, record) < 0)
      .toSorted(newestFirst)
      .slice(0, query.limit);
  }

  async touch(touch: ThreadTouch): Promise<void> {
    this.calls += 1;
    const name = toObjectName(touch);
    const record = this.#records.get(name);
    if (record === undefined) return;
    const lastSeq = Math.max(record.lastSeq, touch.lastSeq);
    this.#records.set(name, {
      ...record,
      lastSeq,
      updatedAt: Math.max(record.updatedAt, touch.at),
    });
  }
}

type Position = Pick<ThreadRecord, "createdAt" | "agent" | "thread">;

function newestFirst(a: Position, b: Position): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt;
  if (a.agent !== b.agent) return a.agent < b.agent ? 1 : -1;
  if (a.thread !== b.thread) return a.thread < b.thread ? 1 : -1;
  return 0;
}
