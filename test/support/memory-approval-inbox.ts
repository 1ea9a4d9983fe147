/** ApprovalInbox in memory; passes test/contracts/approval-inbox.ts. */
import type {
  ApprovalInbox,
  InboxDecision,
  InboxEntry,
  InboxPosition,
  InboxQuery,
} from "#ports/approval-inbox.ts";

export class MemoryApprovalInbox implements ApprovalInbox {
  readonly #entries = new Map<string, InboxEntry>();

  async opened(entry: InboxEntry): Promise<void> {
    const key = `${entry.tenant}/${entry.approval}`;
    if (!this.#entries.has(key)) this.#entries.set(key, entry);
  }

  async closed({ tenant, approval, ...decided }: InboxDecision): Promise<void> {
    const key = `${tenant}/${approval}`;
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.decidedAt !== null) return;
    this.#entries.set(key, { ...entry, ...decided });
  }

  async list({ tenant, visible, state, after, limit }: InboxQuery): Promise<readonly InboxEntry[]> {
    return [...this.#entries.values()]
      .filter((entry) => entry.tenant === tenant)
      .filter((entry) => visible.to === "tenant" || entry.owner === visible.owner)
      .filter((entry) => state === "all" || entry.decidedAt === null)
      .filter((entry) => after === null || newestFirst(after, entry) < 0)
      .toSorted(newestFirst)
      .slice(0, limit);
  }
}

function newestFirst(a: InboxPosition, b: InboxPosition): number {
  if (a.requestedAt !== b.requestedAt) return b.requestedAt - a.requestedAt;
  if (a.approval === b.approval) return 0;
  return a.approval < b.approval ? 1 : -1;
}
