/** Leases that end otherwise than by their run: a halt (B44), an operator's write-off and what the holder says later (B58). */
import { describe, expect, test } from "vitest";
import { askHolders, askOne } from "#budget/ask-holders.ts";
import { ledgerConsumer } from "#durable-objects/agent/leases.ts";
import type { WriteOffKind } from "#ports/budget-ledger.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { budgetOf, NodeLedger } from "#test/support/node-ledger.ts";
import { say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";

/** 10 micro-dollars an output token, input free: a call of 1,000 output tokens reserves 10,000. */
const PRICE = { version: "test-1", inputMicrosPerMillion: 0, outputMicrosPerMillion: 10_000_000 };
const CALL = 10_000;
const DEAD = (): Promise<never> => Promise.reject(new Error("the object is lost"));

async function begin(script: readonly (readonly ScriptPart[])[]): Promise<{
  readonly ledger: NodeLedger;
  readonly thread: ThreadHarness;
  readonly model: ScriptModel;
  readonly leaseId: string;
  readonly driven: Promise<unknown>;
}> {
  const clock = new ManualClock();
  const ledger = new NodeLedger(clock);
  const model = new ScriptModel(script, { by: "call" });
  const thread = new ThreadHarness({ model, clock, ledger, prices: { price: () => PRICE } });
  await ledger.putBudget(budgetOf(3 * CALL, { period: "total" }), "key_op");
  thread.send("go");
  const driven = thread.runtime.drive();
  while (model.waiting === 0) await Promise.resolve();
  const leaseId = thread.runtime.state.lease?.leaseId ?? "";
  expect(ledger.budget("money")).toMatchObject({ spent: 0, leased: CALL, left: 2 * CALL });
  return { ledger, thread, model, leaseId, driven };
}

async function tell(thread: ThreadHarness, ledger: NodeLedger): Promise<void> {
  const consumer = ledgerConsumer({ state: () => thread.runtime.state, ledger: () => ledger });
  while (await thread.log.drain([consumer]));
}

describe("a halt", () => {
  test("[B44] gives the lease back at once; after the resume the run takes another", async () => {
    const { ledger, thread, driven } = await begin([[{ hang: true }], say("done")]);
    expect(thread.halt().ok).toBe(true);
    await driven;
    expect(thread.runtime.state.lease).toBeNull();
    expect(thread.types().slice(-3)).toEqual(["thread.halted", "model.failed", "lease.closed"]);
    await tell(thread, ledger);
    expect(await ledger.leases()).toEqual([]);
    // The attempt that was cut off is taken to have cost its reservation.
    expect(ledger.budget("money")).toMatchObject({ spent: CALL, leased: 0, left: 2 * CALL });
    thread.resume();
    await thread.runtime.drive();
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "done" });
    await tell(thread, ledger);
    expect(ledger.budget("money")).toMatchObject({ spent: CALL + 50, leased: 0 });
    expect(thread.chainFault()).toBeNull();
  });
});

describe("[B58] an operator's write-off", () => {
  test("takes what is blocked as spent, or gives it back, with amount, reason and author in the ledger's log", async () => {
    const left: { readonly [K in WriteOffKind]: number } = { spent: 2 * CALL, released: 3 * CALL };
    for (const as of ["spent", "released"] as const) {
      const { ledger, leaseId } = await begin([[{ hang: true }]]);
      await askHolders(ledger.ledger, DEAD, { now: 1_800_000_000_000, askAfterMs: 0 });
      expect((await ledger.leases())[0]).toMatchObject({ unreachable: true });
      const written = await ledger.writeOff(
        { leaseId, as, reason: "its object is lost" },
        "key_op",
      );
      expect(written).toMatchObject({
        ok: true,
        value: {
          leaseId,
          as,
          blocked: { costMicros: CALL },
          settled: { costMicros: as === "spent" ? CALL : 0 },
        },
      });
      expect(ledger.budget("money")).toMatchObject({ leased: 0, left: left[as] });
      expect(await ledger.leases()).toEqual([]);
      const closed = ledger.recorded().at(-1);
      expect(closed?.payload).toMatchObject({
        how: "written_off",
        writeOff: { as, blocked: { costMicros: CALL }, reason: "its object is lost" },
      });
      expect(closed?.header).toMatchObject({ type: "lease.closed", actor: "key_op", leaseId });
      // The same from the log alone, and no second time.
      ledger.reopen();
      expect(ledger.budget("money")).toMatchObject({ leased: 0, left: left[as] });
      const again = await ledger.writeOff({ leaseId, as, reason: "again" }, "key_op");
      expect(again).toMatchObject({ ok: false, error: { code: "not_found" } });
    }
  });

  test("is corrected to the micro-dollar by a holder that lives after all, and its run goes on under another lease", async () => {
    for (const as of ["spent", "released"] as const) {
      const { ledger, thread, leaseId } = await begin([[{ hang: true }], say("done")]);
      await askOne(ledger.ledger, DEAD, { leaseId, holder: HOLDER });
      await ledger.writeOff({ leaseId, as, reason: "lost" }, "key_op");
      thread.runtime.abort("killed");
      thread.reopen();
      await thread.runtime.drive();
      expect(thread.run("run_1").status).toBe("completed");
      await tell(thread, ledger);
      await tell(thread, ledger);
      const cost = thread.events().reduce((sum, { header }) => sum + (header.costMicros ?? 0), 0);
      expect(cost).toBe(CALL + 50);
      expect(ledger.budget("money")).toMatchObject({ spent: cost, leased: 0 });
      // Old reports that come once more change nothing.
      const before = ledger.recorded().length;
      const settled = { costMicros: 1, tokens: 1, steps: 1, wallMs: 1 };
      const none = { costMicros: 0, tokens: 0, steps: 0, wallMs: 0 };
      await ledger.report([{ type: "settled", leaseId, seq: 1, settled, overrun: none }]);
      expect(ledger.recorded()).toHaveLength(before);
    }
  });
});

const HOLDER = { agent: "helper", thread: "main", run: "run_1", user: null } as never;
