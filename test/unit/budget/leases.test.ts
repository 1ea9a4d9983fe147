import { describe, expect, test } from "vitest";
import type { LeaseReport } from "#ports/budget-ledger.ts";
import type { RoutePrice } from "#ports/prices.ts";
import { ledgerConsumer } from "#durable-objects/agent/leases.ts";
import { CrashBoundary } from "#test/support/crash-boundary.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { budgetOf, NodeLedger } from "#test/support/node-ledger.ts";
import { ask, say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { ThreadHarness, type HarnessOptions } from "#test/support/thread-harness.ts";
import { trusted } from "#shared/ids.ts";
import { World } from "#test/support/world.ts";

/** 10 micro-dollars an output token, input free: a call of 1,000 output tokens reserves 10,000. */
const PRICE: RoutePrice = {
  version: "test-1",
  inputMicrosPerMillion: 0,
  outputMicrosPerMillion: 10_000_000,
};
const CALL = 10_000;
const spend = (output: number): readonly ScriptPart[] => [
  { text: "done" },
  { finish: "stop", usage: { input: 10, output } },
];

function setup(
  script: readonly (readonly ScriptPart[])[],
  options: Partial<HarnessOptions> = {},
): { readonly ledger: NodeLedger; readonly thread: ThreadHarness; readonly model: ScriptModel } {
  const clock = new ManualClock();
  const ledger = new NodeLedger(clock);
  const model = new ScriptModel(script, { by: "call" });
  const prices = { price: () => PRICE };
  const thread = new ThreadHarness({ model, clock, ledger, prices, ...options });
  return { ledger, thread, model };
}

async function tell(thread: ThreadHarness): Promise<void> {
  const { ledger } = thread;
  if (ledger === null) throw new Error("this thread has no ledger");
  const consumer = ledgerConsumer({ state: () => thread.runtime.state, ledger: () => ledger });
  while (await thread.log.drain([consumer]));
}

describe("a lease", () => {
  test("[B41] covers a whole run: ten steps ask the ledger once, and report once when the run has ended", async () => {
    let seen = 0;
    const look = new World().tool("look", "read", () => `seen ${(seen += 1)}`);
    const script = [...Array.from({ length: 9 }, () => ask(["look"])), say("done")];
    const { ledger, thread } = setup(script, { tools: [look] });
    thread.send("go");
    await thread.finish();
    expect(thread.run("run_1")).toMatchObject({ status: "completed", steps: 10 });
    expect(ledger.calls).toEqual({ lease: 1, report: 0 });
    await tell(thread);
    expect(ledger.calls).toEqual({ lease: 1, report: 1 });
    const [grant] = thread.of("lease.granted");
    const leaseId = grant?.header.leaseId;
    const effects = thread
      .events()
      .filter(({ type }) => type === "model.requested" || type === "model.answered");
    expect(effects).toHaveLength(20);
    expect(effects.every(({ header }) => header.leaseId === leaseId)).toBe(true);
    // 10 answers of 5 output tokens each.
    expect(thread.of("lease.closed")[0]?.payload?.settled).toMatchObject({
      costMicros: 500,
      tokens: 150,
      steps: 10,
    });
    expect(await ledger.leases()).toEqual([]);
    expect(ledger.shelf.get(leaseId ?? "")?.settled.costMicros).toBe(500);
    expect(thread.chainFault()).toBeNull();
  });

  test("[B41] is in the log right before the first intent that uses it, in one append", async () => {
    const { thread } = setup([say("done")]);
    thread.send("go");
    await thread.finish();
    expect(thread.types().slice(-5)).toEqual([
      "lease.granted",
      "model.requested",
      "model.answered",
      "run.completed",
      "lease.closed",
    ]);
  });

  test("[B47] a call that has no room ends its run as budget_exceeded, with no request made", async () => {
    const { ledger, thread, model } = setup([say("done")]);
    await ledger.putBudget(budgetOf(CALL - 1), "key_1");
    thread.send("go");
    await thread.finish();
    expect(model.requests).toHaveLength(0);
    expect(thread.run("run_1")).toMatchObject({ status: "failed", reason: "budget_exceeded" });
    expect(thread.of("run.failed")[0]?.payload?.budget).toMatchObject({
      budgetId: "money",
      limit: CALL - 1,
      needed: CALL,
      spent: 0,
      leased: 0,
      cause: "limit",
      resetsAt: 1_700_006_400_000,
    });
    expect(ledger.types()).toEqual(["budget.set", "budget.exhausted"]);
  });

  test("[B43] is small where little is left and large where there is plenty", async () => {
    const { ledger, thread } = setup([spend(1_000), spend(1_000), spend(1_000)]);
    await ledger.putBudget(budgetOf(3 * CALL), "key_1");
    for (const text of ["one", "two", "three"]) {
      thread.send(text);
      await thread.finish();
      await tell(thread);
    }
    expect(thread.of("lease.granted").map(({ payload }) => payload?.granted.costMicros)).toEqual([
      CALL,
      CALL,
      CALL,
    ]);
    expect(ledger.budget("money")).toMatchObject({ spent: 3 * CALL, leased: 0, left: 0 });
    await ledger.putBudget(budgetOf(1_000 * CALL), "key_1");
    thread.send("four");
    await thread.finish();
    expect(thread.of("lease.granted").at(-1)?.payload?.granted.costMicros).toBe(16 * CALL);
  });
});

describe("the ledger and its holders", () => {
  test("[B44] a run that waits for a person gives its lease back, and takes another when it goes on", async () => {
    const pay = new World().tool("pay", "once", () => "paid", { approval: "always" });
    const { ledger, thread } = setup([ask(["pay"]), say("done")], { tools: [pay] });
    thread.send("go");
    expect((await thread.runtime.drive()).next).toBe("wait");
    expect(thread.runtime.state.lease).toBeNull();
    await tell(thread);
    expect(await ledger.leases()).toEqual([]);
    const [approval = ""] = thread.openApprovals();
    expect(thread.decide(approval, "approve").ok).toBe(true);
    await thread.finish();
    expect(thread.run("run_1").status).toBe("completed");
    expect(thread.of("tool.finished")).toHaveLength(1);
    expect(thread.of("lease.granted").map(({ header }) => header.leaseId)).toEqual([
      `${thread.log.logId}-l0`,
      `${thread.log.logId}-l1`,
    ]);
  });

  test("[B48] what a call uses above its reservation is recorded as overrun, and stops the budget until it is put again", async () => {
    const { ledger, thread, model } = setup([
      [{ text: "long" }, { finish: "stop", usage: { input: 10, output: 1_500 } }],
      say("never"),
      say("again"),
    ]);
    await ledger.putBudget(budgetOf(100 * CALL), "key_1");
    thread.send("go");
    await thread.finish();
    expect(thread.of("model.answered")[0]?.payload?.settlement).toMatchObject({
      costMicros: 15_000,
      overrun: { costMicros: 5_000 },
    });
    thread.send("more");
    await thread.finish();
    expect(model.requests).toHaveLength(1);
    expect(thread.of("run.failed")[0]?.payload).toMatchObject({
      reason: "budget_exceeded",
      budget: { cause: "overrun", spent: 15_000 },
    });
    expect(ledger.budget("money")).toMatchObject({ status: "stopped", spent: 15_000 });
    await ledger.putBudget(budgetOf(100 * CALL), "key_1");
    thread.send("once more");
    await thread.finish();
    expect(thread.run("run_3").status).toBe("completed");
  });

  test("[B49] at its limit a budget may ask for a cheaper route instead of an end", async () => {
    const { ledger, thread } = setup([], {
      manifest: { fallbacks: ["test/small"] },
      prices: {
        price: (route) =>
          route === "test/small" ? { ...PRICE, outputMicrosPerMillion: 1_000_000 } : PRICE,
      },
    });
    const small = new ScriptModel([say("cheap")]);
    thread.routes.set("test/small", small);
    await ledger.putBudget(budgetOf(CALL - 1, { atLimit: "cheaper" }), "key_1");
    thread.send("go");
    await thread.finish();
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "cheap" });
    expect(thread.of("route.changed")[0]?.payload).toMatchObject({
      from: "test/script",
      to: "test/small",
      budget: { budgetId: "money" },
    });
    expect(small.requests).toHaveLength(1);
  });

  test("[B50] a budget of money refuses a call whose price nobody knows; without one it is leased unpriced", async () => {
    const { ledger, thread, model } = setup([say("one")], { prices: { price: () => null } });
    thread.send("go");
    await thread.finish();
    expect(thread.run("run_1").status).toBe("completed");
    await ledger.putBudget(budgetOf(100 * CALL), "key_1");
    thread.send("go");
    await thread.finish();
    expect(thread.run("run_2")).toMatchObject({ status: "failed", reason: "price_unknown" });
    expect(model.requests).toHaveLength(1);
  });

  test("[B51] warnings are recorded once each as their threshold is passed", async () => {
    const { ledger, thread } = setup([spend(400), spend(400)]);
    await ledger.putBudget(budgetOf(2 * CALL, { warnAtPercent: [10, 30, 95] }), "key_1");
    for (const text of ["one", "two"]) {
      thread.send(text);
      await thread.finish();
      await tell(thread);
      await tell(thread);
    }
    const warned = ledger
      .recorded()
      .flatMap(({ type, payload }) => (type === "budget.warned" ? [payload] : []));
    expect(warned).toMatchObject([
      { budgetId: "money", percent: 10, spent: 4_000 },
      { budgetId: "money", percent: 30, spent: 8_000 },
    ]);
    expect(ledger.budget("money")).toMatchObject({ status: "warned", left: 12_000 });
  });

  test("[B52] a budget that is set later counts what was spent before in its window, and what is leased now", async () => {
    const { ledger, thread } = setup([spend(300), [{ text: "x" }, { hang: true }]]);
    thread.send("one");
    await thread.finish();
    await tell(thread);
    thread.send("two");
    void thread.runtime.drive();
    while (thread.runtime.state.run?.phase.type !== "model_open") await Promise.resolve();
    const put = await ledger.putBudget(budgetOf(1_000 * CALL), "key_1");
    expect(put.ok && put.value).toMatchObject({ spent: 3_000, leased: 128 * CALL });
    thread.runtime.abort("the test is over");
  });
});

describe("reports", () => {
  test("[B45] are totals: one that is old or comes twice changes nothing, also after the lease was closed", async () => {
    const { ledger } = setup([]);
    await ledger.putBudget(budgetOf(100 * CALL), "key_1");
    const none = { costMicros: 0, tokens: 0, steps: 0, wallMs: 0 };
    const at = (seq: number, costMicros: number) => ({
      leaseId: "l0",
      seq,
      settled: { ...none, costMicros },
      overrun: none,
    });
    await ledger.lease({
      leaseId: "l0",
      holder: { agent: trusted("helper"), thread: trusted("main"), run: "run_1", user: null },
      epoch: 1,
      seq: 1,
      settled: none,
      overrun: none,
      closed: null,
      need: { ...none, costMicros: CALL },
      priced: true,
      grant: null,
    });
    const spent = async (report: LeaseReport): Promise<number> => {
      await ledger.report([report]);
      return ledger.budget("money").spent;
    };
    expect(await spent({ type: "settled", ...at(10, 300) })).toBe(300);
    expect(await spent({ type: "settled", ...at(5, 100) })).toBe(300);
    expect(await spent({ type: "closed", ...at(20, 700) })).toBe(700);
    expect(await spent({ type: "closed", ...at(20, 700) })).toBe(700);
    expect(await spent({ type: "settled", ...at(15, 500) })).toBe(700);
    const corrected = {
      type: "corrected",
      leaseId: "l0",
      seq: 30,
      delta: { ...none, costMicros: -200 },
    } as const;
    expect(await spent(corrected)).toBe(500);
    expect(await spent(corrected)).toBe(500);
    expect(ledger.budget("money").leased).toBe(0);
  });
});

describe("a ledger that cannot be reached", () => {
  test("[B54] ends the run as ledger_unavailable, and nothing is spent", async () => {
    const { ledger, thread, model } = setup([say("one")]);
    let asked = 0;
    ledger.lease = () => {
      asked += 1;
      return Promise.reject(new Error("Durable Object reset because its code was updated."));
    };
    thread.send("go");
    await thread.finish();
    expect(thread.run("run_1")).toMatchObject({ status: "failed", reason: "ledger_unavailable" });
    expect(asked).toBe(4);
    expect(model.requests).toHaveLength(0);
  });
});

describe("a crash at each boundary of grant, record, settle and close", () => {
  test("[B45][B46] leaves every micro-dollar counted once, and nothing blocked for good", async () => {
    for (let target = 1; ; target += 1) {
      const boundary = new CrashBoundary(target);
      const look = new World().tool("look", "read", () => "seen");
      const { ledger, thread } = setup([ask(["look"]), ask(["look"]), say("done"), say("done")], {
        tools: [look],
        boundary,
      });
      await ledger.putBudget(budgetOf(100 * CALL), "key_1");
      thread.send("go");
      await thread.finish().catch(() => undefined);
      if (boundary.crashedAt !== null) {
        thread.boundary = { cross: () => undefined };
        thread.reopen();
        await thread.finish();
      }
      expect(thread.run("run_1").status).toBe("completed");
      await tell(thread);
      const cost = thread.events().reduce((sum, { header }) => sum + (header.costMicros ?? 0), 0);
      expect(ledger.budget("money")).toMatchObject({ spent: cost, leased: 0 });
      if (boundary.crashedAt === null) break;
    }
  });
});
