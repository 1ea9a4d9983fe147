/** What every ApprovalInbox keeps. Run it with a factory for an empty one. */
import { expect, it } from "vitest";
import type {
  ApprovalInbox,
  InboxEntry,
  InboxPosition,
  InboxQuery,
} from "#ports/approval-inbox.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";

const tenant = trusted<TenantId>("acme");

function entry(approval: string, over: Partial<InboxEntry> = {}): InboxEntry {
  return {
    tenant,
    agent: trusted<AgentName>("clerk"),
    thread: trusted<ThreadId>("t1"),
    owner: "u1",
    approval,
    run: "run_1",
    call: "call_1",
    kind: "tool",
    tool: "wire",
    requestedAt: 100,
    expiresAt: 900,
    decision: null,
    decidedBy: null,
    decidedAt: null,
    ...over,
  };
}
function query(over: Partial<InboxQuery> = {}): InboxQuery {
  return { tenant, visible: { to: "tenant" }, state: "all", after: null, limit: 50, ...over };
}
const ids = (entries: readonly InboxEntry[]): readonly string[] =>
  entries.map((each) => each.approval);

export function approvalInboxContract(createInbox: () => ApprovalInbox): void {
  it("[A9] holds what was opened, and its first decision, however often each is delivered", async () => {
    const inbox = createInbox();
    await inbox.opened(entry("evt_1"));
    const approved = { decision: "approved", decidedBy: "u1", decidedAt: 200 } as const;
    await inbox.closed({ tenant, approval: "evt_1", ...approved });
    await inbox.opened(entry("evt_1"));
    const denied = { decision: "denied", decidedBy: "u2", decidedAt: 300 } as const;
    await inbox.closed({ tenant, approval: "evt_1", ...denied });
    await inbox.closed({ tenant, approval: "evt_missing", ...denied });
    expect(await inbox.list(query())).toEqual([entry("evt_1", approved)]);
    expect(await inbox.list(query({ state: "open" }))).toEqual([]);
  });

  it("[A9] [Z5] finds nothing of another tenant, and for a user only what waits in the user's threads", async () => {
    const inbox = createInbox();
    await inbox.opened(entry("evt_mine"));
    await inbox.opened(entry("evt_yours", { owner: "u2" }));
    const other = trusted<TenantId>("other");
    expect(await inbox.list(query({ tenant: other }))).toEqual([]);
    const mine = await inbox.list(query({ visible: { to: "owner", owner: "u1" } }));
    expect(ids(mine)).toEqual(["evt_mine"]);
    await inbox.closed({
      tenant: other,
      approval: "evt_mine",
      decision: "denied",
      decidedBy: "u9",
      decidedAt: 1,
    });
    expect(ids(await inbox.list(query({ state: "open" })))).toHaveLength(2);
  });

  it("[A9] [P7] pages newest first, each once, those of one millisecond too", async () => {
    const inbox = createInbox();
    for (const id of ["a", "b", "c", "d"]) await inbox.opened(entry(`evt_${id}`));
    await inbox.opened(entry("evt_new", { requestedAt: 200 }));
    const seen: string[] = [];
    let after: InboxPosition | null = null;
    for (let page = 0; page < 10; page += 1) {
      const entries: readonly InboxEntry[] = await inbox.list(query({ after, limit: 2 }));
      seen.push(...ids(entries));
      after = entries.at(-1) ?? null;
      if (after === null) break;
    }
    expect(seen).toEqual(["evt_new", "evt_d", "evt_c", "evt_b", "evt_a"]);
  });
}
