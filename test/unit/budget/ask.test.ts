/** At its limit a budget has a person asked (B55): through the gate, the log and the ledger, also across crashes. */
import { describe, expect, test } from "vitest";
import { DEFAULT_APPROVAL_MS } from "#kernel/approvals.ts";
import type { BudgetSpec, LeaseAnswer, LeaseRequest } from "#ports/budget-ledger.ts";
import type { RoutePrice } from "#ports/prices.ts";
import { ledgerConsumer } from "#durable-objects/agent/leases.ts";
import { CrashBoundary } from "#test/support/crash-boundary.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { budgetOf, NodeLedger } from "#test/support/node-ledger.ts";
import { ask, say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { ThreadHarness, type HarnessOptions } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

/** 10 micro-dollars an output token, input free: a call of 1,000 output tokens reserves 10,000. */
const PRICE: RoutePrice = {
  version: "test-1",
  inputMicrosPerMillion: 0,
  outputMicrosPerMillion: 10_000_000,
};
const CALL = 10_000;

interface Desk {
  readonly ledger: NodeLedger;
  readonly thread: ThreadHarness;
  readonly model: ScriptModel;
}

async function setup(
  script: readonly (readonly ScriptPart[])[],
  { limit = CALL - 1, ...spec }: Partial<BudgetSpec> = {},
  options: Partial<HarnessOptions> = {},
): Promise<Desk> {
  const clock = new ManualClock();
  const ledger = new NodeLedger(clock);
  const model = new ScriptModel(script, { by: "call" });
  const thread = new ThreadHarness({
    model,
    clock,
    ledger,
    prices: { price: () => PRICE },
    ...options,
  });
  await ledger.putBudget(budgetOf(limit, { atLimit: "ask", ...spec }), "key_op");
  return { ledger, thread, model };
}

async function tell({ thread, ledger }: Desk): Promise<void> {
  const consumer = ledgerConsumer({ state: () => thread.runtime.state, ledger: () => ledger });
  while (await thread.log.drain([consumer]));
}

const raises = (ledger: NodeLedger): number =>
  ledger.types().filter((type) => type === "budget.raised").length;

describe("[B55] a budget that asks at its limit", () => {
  test("makes the run wait for a person with what was lacking and what a yes grants; nothing is sent", async () => {
    const { thread, model, ledger } = await setup([say("done")]);
    thread.send("go");
    const result = await thread.runtime.drive();
    const [asked] = thread.of("approval.requested");
    expect(asked?.payload).toMatchObject({
      kind: "budget",
      tool: "money",
      args: null,
      budget: {
        stop: { budgetId: "money", limit: CALL - 1, needed: CALL, spent: 0, cause: "limit" },
        window: "2023-11-14",
        amount: 1_000,
      },
    });
    expect(asked?.header).toMatchObject({ run: "run_1", step: 1, call: null });
    expect(asked?.payload?.question).toContain("Grant 1000 costMicros more, once?");
    expect(result).toEqual({ next: "wait", at: thread.clock.now() + DEFAULT_APPROVAL_MS });
    expect(model.requests).toHaveLength(0);
    expect(ledger.types()).toEqual(["budget.set", "budget.exhausted"]);
  });

  test("goes on after a yes, with exactly that much more, once", async () => {
    const desk = await setup([say("done")]);
    const { thread, model, ledger } = desk;
    thread.send("go");
    await thread.runtime.drive();
    const [approval = ""] = thread.openApprovals();
    expect(thread.decide(approval, "approve").ok).toBe(true);
    await thread.runtime.drive();
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "done" });
    expect(model.requests).toHaveLength(1);
    const raised = ledger.recorded().find(({ type }) => type === "budget.raised");
    expect(raised?.payload).toEqual({
      budgetId: "money",
      window: "2023-11-14",
      approvalId: approval,
      amount: 1_000,
    });
    expect(raised?.header).toMatchObject({ actor: "usr_1", cause: approval, run: "run_1" });
    await tell(desk);
    expect(ledger.budget("money")).toMatchObject({ limit: CALL - 1, raised: 1_000, spent: 50 });
    expect(ledger.budget("money").left).toBe(CALL - 1 + 1_000 - 50);
    // A new day has the limit alone again.
    thread.clock.advance(86_400_000);
    expect(ledger.budget("money")).toMatchObject({ raised: 0, left: CALL - 1 });
    expect(thread.chainFault()).toBeNull();
  });

  test("ends as budget_exceeded, with the budget, after a no, an expiry, or a cancellation", async () => {
    const ways = [
      {
        end: (thread: ThreadHarness, id: string) => thread.decide(id, "deny", { comment: "dear" }),
      },
      { end: (thread: ThreadHarness) => thread.clock.advance(DEFAULT_APPROVAL_MS) },
    ];
    for (const { end } of ways) {
      const { thread, model } = await setup([say("never")]);
      thread.send("go");
      await thread.runtime.drive();
      end(thread, thread.openApprovals()[0] ?? "");
      await thread.runtime.drive();
      expect(thread.run("run_1")).toMatchObject({ status: "failed", reason: "budget_exceeded" });
      expect(thread.of("run.failed")[0]?.payload?.budget).toMatchObject({ budgetId: "money" });
      expect(model.requests).toHaveLength(0);
    }
    const { thread } = await setup([say("never")]);
    thread.send("go");
    await thread.runtime.drive();
    expect(thread.cancel("run_1").ok).toBe(true);
    expect(thread.types().slice(-3)).toEqual([
      "run.cancel_requested",
      "approval.decided",
      "run.cancelled",
    ]);
    expect(thread.of("approval.decided")[0]?.payload?.decision).toBe("cancelled");
  });

  test("says what a denial said, and takes no answer and no second decision", async () => {
    const { thread } = await setup([say("never")]);
    thread.send("go");
    await thread.runtime.drive();
    const [approval = ""] = thread.openApprovals();
    const misfit = thread.decide(approval, "answer", { answer: "yes" });
    expect(misfit).toMatchObject({
      ok: false,
      error: { reason: "decision_misfit", kind: "budget" },
    });
    thread.decide(approval, "deny", { comment: "too dear" });
    await thread.runtime.drive();
    expect(thread.of("run.failed")[0]?.payload?.message).toContain("They said: too dear");
    const again = thread.decide(approval, "approve");
    expect(again).toMatchObject({ ok: false, error: { reason: "approval_not_open" } });
  });

  test("grants nothing where the budget is not the one that was shown any more: it asks anew", async () => {
    const { thread, ledger, model } = await setup([say("done")]);
    thread.send("go");
    await thread.runtime.drive();
    const [approval = ""] = thread.openApprovals();
    await ledger.putBudget(budgetOf(CALL - 2, { atLimit: "ask" }), "key_op");
    thread.decide(approval, "approve");
    await thread.runtime.drive();
    expect(raises(ledger)).toBe(0);
    expect(model.requests).toHaveLength(0);
    const [second = ""] = thread.openApprovals();
    expect(second).not.toBe(approval);
    expect(thread.of("approval.requested")[1]?.payload?.budget?.stop.limit).toBe(CALL - 2);
    thread.decide(second, "approve");
    await thread.runtime.drive();
    expect(thread.run("run_1").status).toBe("completed");
    expect(raises(ledger)).toBe(1);
  });

  test("grants nothing of a day for the next one, where the limit has room by itself", async () => {
    const { thread, ledger } = await setup([say("one"), say("two")], { limit: CALL });
    thread.send("go");
    await thread.runtime.drive();
    await tell({ thread, ledger, model: new ScriptModel([]) });
    thread.send("more");
    await thread.runtime.drive();
    const [approval = ""] = thread.openApprovals();
    thread.clock.advance(86_400_000);
    thread.decide(approval, "approve");
    await thread.runtime.drive();
    expect(thread.run("run_2").status).toBe("completed");
    expect(raises(ledger)).toBe(0);
  });

  test("keeps what is said meanwhile: it neither supersedes the question nor is lost", async () => {
    const { thread } = await setup([say("done"), say("again")], {}, {});
    thread.send("go");
    await thread.runtime.drive();
    const sent = thread.send("and this");
    expect(sent).toMatchObject({ ok: true, value: { disposition: "queued" } });
    expect(thread.openApprovals()).toHaveLength(1);
    thread.decide(thread.openApprovals()[0] ?? "", "approve");
    await thread.runtime.drive();
    expect(thread.run("run_1").status).toBe("completed");
    expect(thread.run("run_2").status).toBe("completed");
  });

  test("asks in the middle of a run too: no call is made twice, and its lease goes back meanwhile", async () => {
    const world = new World();
    const look = world.tool("look", "read", () => "seen");
    const desk = await setup([ask(["look"]), say("done")], { limit: CALL }, { tools: [look] });
    const { thread, ledger, model } = desk;
    thread.send("go");
    await thread.runtime.drive();
    await tell(desk);
    expect(await ledger.leases()).toEqual([]);
    expect(thread.openApprovals()).toHaveLength(1);
    thread.decide(thread.openApprovals()[0] ?? "", "approve");
    await thread.runtime.drive();
    expect(thread.run("run_1")).toMatchObject({ status: "completed", steps: 2 });
    expect(model.requests).toHaveLength(2);
    expect(raises(ledger)).toBe(1);
  });

  test("takes its yes to one call: a later one at the limit is asked about again", async () => {
    const big: readonly ScriptPart[] = [
      { call: { id: "p0", name: "look", args: "{}" } },
      { finish: "tool_calls", usage: { input: 10, output: 900 } },
    ];
    const look = new World().tool("look", "read", () => "seen");
    const { thread, ledger } = await setup([big, say("done")], {}, { tools: [look] });
    const grants: (string | null)[] = [];
    const real = ledger.lease.bind(ledger);
    ledger.lease = (request) => {
      grants.push(request.grant?.approvalId ?? null);
      return real(request);
    };
    thread.send("go");
    for (let round = 0; round < 2; round += 1) {
      await thread.runtime.drive();
      thread.decide(thread.openApprovals()[0] ?? "", "approve");
    }
    await thread.runtime.drive();
    expect(thread.run("run_1").status).toBe("completed");
    const [first, second] = thread.of("approval.requested").map(({ header }) => header.id);
    expect(grants).toEqual([null, first, null, second]);
  });

  test("is not asked about an overrun or an unknown price: those are for who sets budgets", async () => {
    const over: readonly ScriptPart[] = [
      { text: "long" },
      { finish: "stop", usage: { input: 10, output: 1_500 } },
    ];
    const { thread } = await setup([over, say("never")], { limit: 100 * CALL });
    thread.send("go");
    await thread.runtime.drive();
    thread.send("more");
    await thread.runtime.drive();
    expect(thread.run("run_2")).toMatchObject({ status: "failed", reason: "budget_exceeded" });
    const unpriced = await setup([say("never")], {}, { prices: { price: () => null } });
    unpriced.thread.send("go");
    await unpriced.thread.runtime.drive();
    expect(unpriced.thread.run("run_1").reason).toBe("price_unknown");
    expect([...thread.openApprovals(), ...unpriced.thread.openApprovals()]).toEqual([]);
  });
});

describe("[B55] a crash", () => {
  async function drive(thread: ThreadHarness): Promise<void> {
    await thread.runtime.drive().catch(() => undefined);
  }

  test("at each boundary leaves one question, one raise and one call", async () => {
    const seen = new Set<string>();
    for (let target = 1; ; target += 1) {
      const boundary = new CrashBoundary(target);
      const desk = await setup([say("done"), say("done")], {}, { boundary });
      const { thread, ledger } = desk;
      thread.send("go");
      const survive = async (): Promise<void> => {
        await drive(thread);
        if (boundary.crashedAt === null || thread.boundary !== boundary) return;
        seen.add(boundary.crashedAt.point);
        thread.boundary = { cross: () => undefined };
        thread.reopen();
        await drive(thread);
      };
      await survive();
      expect(thread.openApprovals()).toHaveLength(1);
      // Nothing of the wait is in memory.
      thread.reopen();
      thread.decide(thread.openApprovals()[0] ?? "", "approve");
      await survive();
      if (thread.openApprovals().length > 0) {
        // The process died in its call, whose worst case is taken as spent: that a person is asked again is right.
        thread.decide(thread.openApprovals()[0] ?? "", "approve");
        await survive();
      }
      expect(thread.run("run_1").status).toBe("completed");
      await tell(desk);
      const { spent, raised, leased } = ledger.budget("money");
      const cost = thread.events().reduce((sum, { header }) => sum + (header.costMicros ?? 0), 0);
      expect({ spent, leased }).toEqual({ spent: cost, leased: 0 });
      expect(spent).toBeLessThanOrEqual(CALL - 1 + raised);
      expect(raises(ledger)).toBe(
        thread.of("approval.decided").filter(({ payload }) => payload?.decision === "approved")
          .length,
      );
      expect(thread.chainFault()).toBeNull();
      if (boundary.crashedAt === null) break;
    }
    expect([...seen].toSorted()).toEqual([
      "after_dispatch",
      "after_intent",
      "after_outcome",
      "before_intent",
    ]);
  });

  test("between the ledger's raise and the thread's record of it raises once", async () => {
    const { thread, ledger } = await setup([say("done")]);
    thread.send("go");
    await thread.runtime.drive();
    thread.decide(thread.openApprovals()[0] ?? "", "approve");
    const real = ledger.lease.bind(ledger);
    const reached = Promise.withResolvers<void>();
    ledger.lease = async (request: LeaseRequest): Promise<LeaseAnswer> => {
      await real(request);
      reached.resolve();
      // The answer never comes: the thread's process dies waiting for it.
      return new Promise(() => undefined);
    };
    void thread.runtime.drive();
    await reached.promise;
    ledger.lease = real;
    thread.reopen();
    ledger.reopen();
    await thread.runtime.drive();
    expect(thread.run("run_1").status).toBe("completed");
    expect(raises(ledger)).toBe(1);
    expect(thread.openApprovals()).toEqual([]);
  });
});
