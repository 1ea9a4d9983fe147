/** Retention of one thread over real stores: whose word holds, what a run still needs, and what opening reads afterwards. */
import { describe, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import { D1RetentionPolicies } from "#adapters/retention/d1-retention-policies.ts";
import { explain } from "#durable-objects/agent/audit.ts";
import { decide, listApprovals } from "#durable-objects/agent/approvals.ts";
import { create } from "#durable-objects/agent/thread-commands.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import type { RetentionPolicy } from "#ports/retention-policies.ts";
import { trusted } from "#shared/ids.ts";
import { chainFault, sendText, send as sendTool, take } from "#test/support/filled-thread.ts";
import { NodeTenant, OWNER, TENANT } from "#test/support/node-tenant.ts";
import { ask, say } from "#test/support/scripted-model.ts";
import { StrictModel } from "#test/support/strict-model.ts";

const DAY_MS = 86_400_000;
const AUDITOR = { ...OWNER, scopes: [...OWNER.scopes, "audit"] };

interface Opened {
  readonly tenant: NodeTenant;
  readonly open: () => ThreadHost;
  readonly policies: D1RetentionPolicies;
  readonly set: (policy: Partial<RetentionPolicy>) => Promise<void>;
}

function setUp(retention?: { readonly maxEvents: number }): Opened {
  const agent = defineAgent({
    name: "kept",
    description: "kept",
    instructions: "Help.",
    model: "test/strict",
    tools: [sendTool],
    contextTokens: 400,
    settings: { maxOutputTokens: 10 },
    limits: { maxCostMicros: null },
    ...(retention === undefined ? {} : { retention }),
  });
  const model = new StrictModel((request) => {
    const waits = JSON.stringify(request.messages.at(-1)?.content).includes("send it");
    return waits ? ask(["send", { what: "it" }]) : say("heard");
  });
  const tenant = new NodeTenant({ agents: [agent], model });
  const policies = new D1RetentionPolicies(tenant.d1.d1);
  const own = { tenant: trusted<never>(TENANT), agent: null, updatedAt: 1, updatedBy: "key_1" };
  const none = { maxAgeDays: null, maxEvents: null };
  return {
    tenant,
    open: () => tenant.open(tenant.address("kept", "t1")),
    policies,
    set: (policy) => policies.set({ ...own, ...none, ...policy }),
  };
}

async function talk(host: ThreadHost, turns: number): Promise<void> {
  if (!host.runtime.state.created) take(create(host, OWNER, { title: null, idempotencyKey: null }));
  for (let turn = 0; turn < turns; turn += 1) {
    sendText(host, OWNER, `question ${host.log.head().seq}`);
    await host.runtime.drive();
  }
  while (await host.drainOutbox());
}

/** As alarms do, one after the other. */
async function prune(host: ThreadHost): Promise<number> {
  while (await host.applyRetention());
  return host.log.base().seq;
}

describe("whose word holds", () => {
  it("[H44] a tenant's policy goes before its agent's, that of one agent before that of all, and it can keep everything", async () => {
    const { open, set, policies } = setUp({ maxEvents: 60 });
    const host = open();
    await talk(host, 90);
    await set({ agent: trusted("other"), maxEvents: 1 });
    await set({ maxEvents: 1 });
    await set({ agent: host.address.agent });
    expect(await prune(host)).toBe(0);
    await policies.remove({ tenant: host.address.tenant, agent: host.address.agent });
    await set({ maxEvents: 250 });
    const first = await prune(host);
    expect(host.log.head().seq - first).toBeGreaterThanOrEqual(250);
    expect(first).toBeGreaterThan(0);
    await policies.remove({ tenant: host.address.tenant, agent: null });
    expect(await prune(host)).toBeGreaterThan(first);
    expect(chainFault(host)).toBeNull();
  });

  it("[H44] by age: what is older than the days it says", async () => {
    const { tenant, open, set } = setUp();
    const host = open();
    await talk(host, 30);
    const old = host.log.head().seq;
    tenant.clock.advance(10 * DAY_MS);
    await talk(host, 30);
    await set({ maxAgeDays: 11 });
    expect(await prune(host)).toBe(0);
    await set({ maxAgeDays: 9 });
    const base = await prune(host);
    expect(base).toBeGreaterThan(old - 60);
    expect(base).toBeLessThanOrEqual(old);
  });

  it("[H44] a short thread asks for no policy, and where it cannot be asked nothing is pruned", async () => {
    const { tenant, open } = setUp({ maxEvents: 1 });
    const host = open();
    await talk(host, 3);
    const asked = tenant.d1.executed();
    expect(await host.applyRetention()).toBe(false);
    expect(tenant.d1.executed()).toBe(asked);
    await talk(host, 30);
    tenant.d1.sqlite.exec("DROP TABLE retention");
    await expect(host.applyRetention()).rejects.toMatchObject({ code: "unavailable" });
    expect(host.log.base().seq).toBe(0);
  });
});

describe("what a run was pinned to", () => {
  it("[H41] stays while it waits, whatever its age", async () => {
    const { open, set } = setUp();
    await set({ maxEvents: 1 });
    let host = open();
    await talk(host, 40);
    const run = sendText(host, OWNER, "send it");
    await host.runtime.drive();
    while (await host.drainOutbox());
    expect(await prune(host)).toBe(0);
    host = open();
    const [waiting] = listApprovals(host, { after: 0, limit: 1, state: "open" }).items;
    const decision = { approvalId: waiting?.approvalId ?? "", comment: null, answer: null };
    take(
      decide(host, OWNER, { decision: { ...decision, decision: "deny" }, idempotencyKey: null }),
    );
    await host.runtime.drive();
    expect(host.runs.get(run)).toMatchObject({ status: "completed" });
  });

  it("[H45] outlives its event: later runs need no new one, and are explained by the very prompts they had", async () => {
    const { open, set } = setUp();
    let host = open();
    await talk(host, 60);
    await set({ maxEvents: 60 });
    const base = await prune(host);
    expect(base).toBeGreaterThan(100);
    host = open();
    await talk(host, 2);
    const events = host.log.read({ limit: 1_000 });
    expect(events.some(({ type }) => type === "definition.pinned")).toBe(false);
    const kept = events.filter(({ type }) => type === "run.started").slice(1);
    expect(kept.length).toBeGreaterThan(5);
    const attempts = kept.flatMap(({ header }) => {
      const asked = { runId: header.run ?? "", after: 0, limit: 5 };
      return take(explain(host, AUDITOR, asked)).steps.flatMap((step) => step.attempts);
    });
    expect(attempts.slice(-2)).toMatchObject([
      { prompt: { intact: true } },
      { prompt: { intact: true } },
    ]);
    // Of older runs a part of the prompt may be gone, and is said to be.
    const missing = attempts.map(({ promptMissing }) => promptMissing);
    expect(missing.every((why) => why === null || why === "references_broken")).toBe(true);
  });
});

describe("opening after pruning", () => {
  it("[H42] reads as much of a thread that ran ten times as long: no table that grows is walked", async () => {
    const read = async (turns: number): Promise<number> => {
      const { tenant, open, set } = setUp();
      await talk(open(), turns);
      await set({ maxEvents: 60 });
      const head = open().log.head().seq;
      expect(head - (await prune(open()))).toBeLessThan(130);
      const files = tenant.object("kept/t1");
      const before = files.ran.length;
      const host = open();
      await talk(host, 1);
      const ran = files.ran.slice(before);
      // The newest row is found without a walk.
      const whole = ran.filter(({ query }) => !query.includes("LIMIT 1"));
      const walked = whole.flatMap(({ query }) => files.scannedBy(query));
      expect(walked.filter((table) => table === "events" || table === "runs")).toEqual([]);
      return ran.reduce((sum, { rows }) => sum + rows, 0);
    };
    const [short, long] = [await read(40), await read(400)];
    expect(short).toBeGreaterThan(0);
    // What is kept, once for the state and once for the outbox of the run that follows; 1,600 events went before.
    expect(long).toBeLessThan(300);
    expect(Math.abs(long - short)).toBeLessThan(120);
  });
});
