import { describe, expect, it } from "vitest";
import { D1ApprovalInbox } from "#adapters/approval-inbox/d1-approval-inbox.ts";
import { D1MetricsStore } from "#adapters/metrics/d1-metrics.ts";
import { trusted, type AgentName, type TenantId, type ThreadId } from "#shared/ids.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { metricsContract } from "./metrics.ts";

describe("D1MetricsStore", () => {
  metricsContract(() => new D1MetricsStore(createNodeD1().d1));

  it("[H51] open approvals are those of the inbox, found by an index of the open ones", async () => {
    const { d1, sqlite } = createNodeD1();
    const [inbox, store] = [new D1ApprovalInbox(d1), new D1MetricsStore(d1)];
    const tenant = trusted<TenantId>("acme");
    for (const approval of ["a1", "a2", "a3"])
      await inbox.opened({
        tenant,
        approval,
        agent: trusted<AgentName>("clerk"),
        thread: trusted<ThreadId>("t1"),
        owner: "u1",
        run: "r1",
        call: "c1",
        kind: "tool",
        tool: "send",
        requestedAt: 1,
        expiresAt: 9,
        decision: null,
        decidedBy: null,
        decidedAt: null,
      });
    const decided = { decision: "approved", decidedBy: "u1", decidedAt: 2 } as const;
    await inbox.closed({ tenant, approval: "a2", ...decided });
    expect((await store.read(tenant, 0)).openApprovals).toEqual([{ agent: "clerk", open: 2 }]);
    const plan = sqlite
      .prepare(
        "explain query plan select agent, count(*) from approvals where tenant = 'acme' and decided_at is null group by agent",
      )
      .all();
    expect(plan.map(({ detail }) => String(detail)).join()).toContain("approvals_open");
  });
});
