/**
 * A budget of $0.10 a day, 20 threads at once, kills at random points, answers of the ledger that get lost or come twice, and
 * reports that are told again. Each round is a day on the same threads and ledger; `npm test -- deep` plays a thousand.
 */
import { describe, expect, test } from "vitest";
import { askHolders } from "#budget/ask-holders.ts";
import { DAY_MS, dayOf } from "#budget/windows.ts";
import { D1SpendStore } from "#adapters/spend/d1-spend.ts";
import { spendConsumer } from "#durable-objects/agent/outbox-spend.ts";
import { ledgerConsumer, stateLease } from "#durable-objects/agent/leases.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import type { OutboxConsumer } from "#ports/event-log.ts";
import { trusted, type TenantId } from "#shared/ids.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import type { Model, ModelPart } from "#ports/model.ts";
import type { LeaseAnswer, LeaseReport, LeaseRequest } from "#ports/budget-ledger.ts";
import { rounds } from "#test/support/depth.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { budgetOf, NodeLedger } from "#test/support/node-ledger.ts";
import { createRandom, type SeededRandom } from "#test/support/seeded-random.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const ROUNDS = rounds(12, 1_000);
/** Logs grow, and each round reads them whole. */
const ROUNDS_OF_A_FLEET = 25;
const SEED = 20_261_130;
const THREADS = 20;
const LIMIT = 100_000;
/** A call of 500 output tokens is $0.005 at most, so twenty of them exhaust a day. */
const MAX_OUTPUT = 500;
const PRICE = { version: "test-1", inputMicrosPerMillion: 0, outputMicrosPerMillion: 10_000_000 };

/** Answers at random, within what was asked for; sometimes without usage, sometimes with a failure. */
class FleetModel implements Model {
  readonly route = "test/script";
  readonly #random: SeededRandom;
  calls = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  async *stream(): AsyncGenerator<ModelPart> {
    this.calls += 1;
    const { calls } = this;
    await ticks(this.#random.below(5));
    if (this.#random.below(10) === 0) {
      const retry = { retryable: true, retryAfterMs: null, usage: null };
      yield { type: "error", code: "overloaded", message: "later", ...retry };
      return;
    }
    const more = this.#random.below(3) > 0;
    if (more) yield { type: "call", providerCallId: "p", name: "look", argsText: `{"n":${calls}}` };
    else yield { type: "text", text: "done" };
    const known = this.#random.below(6) > 0;
    const usage = {
      inputTokens: known ? 5 : null,
      cachedInputTokens: null,
      cacheWriteTokens: null,
      outputTokens: known ? this.#random.below(MAX_OUTPUT + 1) : null,
      reasoningTokens: null,
    };
    yield { type: "finish", reason: more ? "tool_calls" : "stop", raw: null, usage };
  }
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick += 1) await Promise.resolve();
}

/** The ledger as the network shows it. */
class FaultyLedger extends NodeLedger {
  random: SeededRandom = createRandom(0);
  calm = true;
  /** The asking process dies between the ledger's answer and its own record. */
  kill: (thread: string) => void = () => undefined;
  readonly #old: LeaseRequest[] = [];
  readonly #told: (readonly LeaseReport[])[] = [];

  override async lease(request: LeaseRequest): Promise<LeaseAnswer> {
    await ticks(this.random.below(4));
    if (!this.calm && this.random.below(12) === 0) throw new Error("the request was lost");
    const answer = await super.lease(request);
    this.#old.push(request);
    if (!this.calm && answer.granted && this.random.below(5) === 0) {
      this.kill(request.holder.thread);
      await new Promise(() => undefined);
    }
    await ticks(this.random.below(4));
    if (!this.calm && this.random.below(12) === 0) throw new Error("the answer was lost");
    // A request of long ago arrives once more.
    const again = this.#old[this.random.below(this.#old.length)];
    if (!this.calm && again !== undefined && this.random.below(6) === 0) await super.lease(again);
    return answer;
  }

  override async report(reports: readonly LeaseReport[]): Promise<void> {
    await super.report(reports);
    this.#told.push(reports);
    const again = this.#told[this.random.below(this.#told.length)];
    if (!this.calm && again !== undefined) await super.report(again);
    if (!this.calm && this.random.below(4) === 0) throw new Error("the acknowledgement was lost");
  }
}

interface Member {
  readonly thread: ThreadHarness;
  die: () => void;
}

class Fleet {
  readonly clock = new ManualClock(dayOf(1_700_000_000_000) * DAY_MS);
  readonly ledger = new FaultyLedger(this.clock);
  readonly random: SeededRandom;
  readonly members: readonly Member[];
  readonly #spend = new D1SpendStore(createNodeD1().d1);

  constructor(seed: number) {
    this.random = createRandom(seed);
    this.ledger.random = this.random;
    const look = new World().tool("look", "read", ({ n }) => `seen ${Number(n)}`);
    const shared = { clock: this.clock, ledger: this.ledger, tools: [look] };
    this.members = Array.from({ length: THREADS }, (_, index) => ({
      die: () => undefined,
      thread: new ThreadHarness({
        ...shared,
        model: new FleetModel(this.random),
        prices: { price: () => PRICE },
        manifest: { settings: { maxOutputTokens: MAX_OUTPUT, temperature: null } },
        thread: `t${index}`,
        seed: seed * 100 + index,
      }),
    }));
    this.ledger.kill = (id) =>
      this.members.find(({ thread }) => thread.address.thread === id)?.die();
    for (const member of this.members)
      member.thread.boundary = {
        cross: async () => {
          await ticks(this.random.below(3));
          if (this.ledger.calm || this.random.below(25) > 0) return;
          member.die();
          await new Promise(() => undefined);
        },
      };
  }

  /** Sends a message and works until the run has ended, through every death of the process. */
  async work(member: Member, cancels: boolean): Promise<void> {
    const { thread } = member;
    thread.send("go");
    for (;;) {
      const died = new Promise<"died">((resolve) => (member.die = () => resolve("died")));
      const worked = await Promise.race([thread.finish().catch(() => "died" as const), died]);
      if (worked !== "died") break;
      thread.runtime.abort("the process is gone");
      thread.reopen();
      // What was granted to the process that died is never used by a run that is cancelled before it goes on.
      const runId = thread.runtime.state.run?.runId;
      if (cancels && runId !== undefined) thread.cancel(runId);
    }
  }

  async tell({ thread }: Member): Promise<void> {
    const { state } = thread.runtime;
    const consumer = ledgerConsumer({ state: () => state, ledger: () => this.ledger });
    const rollup = this.#acknowledgedAtRandom(
      spendConsumer({ ...thread.address, owner: "u1" }, thread.log.logId, this.#spend),
    );
    for (;;) {
      try {
        if (!(await thread.log.drain([consumer, rollup]))) return;
      } catch {
        // Told again from where the cursor stands.
      }
    }
  }

  /** What was delivered is delivered again where nobody heard that it had arrived. */
  #acknowledgedAtRandom(consumer: OutboxConsumer<ThreadEvents>): OutboxConsumer<ThreadEvents> {
    return {
      ...consumer,
      deliver: async (events) => {
        await consumer.deliver(events);
        if (!this.ledger.calm && this.random.below(4) === 0) throw new Error("not acknowledged");
      },
    };
  }

  /** What the rollup says that all threads have spent. */
  async rolledUp(): Promise<number> {
    const { tenant } = this.members[0]?.thread.address ?? { tenant: trusted<TenantId>("none") };
    const groups = await this.#spend.sum({
      tenant,
      visible: { to: "tenant" },
      from: null,
      to: null,
      where: {},
      groupBy: ["kind"],
      after: null,
      limit: 10,
    });
    return groups.reduce((sum, { micros }) => sum + micros, 0);
  }

  async ask(): Promise<void> {
    await askHolders(
      this.ledger.ledger,
      async ({ thread: id }, question) => {
        const member = this.members.find(({ thread }) => thread.address.thread === id);
        if (member === undefined) throw new Error("no such thread");
        if (!this.ledger.calm && this.random.below(3) === 0) throw new Error("unreachable");
        const { runtime, log } = member.thread;
        const drainLedger = async (): Promise<boolean> => {
          await this.tell(member);
          return false;
        };
        return stateLease({ runtime, log, drainLedger }, question);
      },
      { now: this.clock.now(), askAfterMs: 0 },
    );
  }

  async round(): Promise<void> {
    this.clock.set((dayOf(this.clock.now()) + 1) * DAY_MS);
    this.ledger.calm = false;
    await Promise.all(
      this.members.map(async (member) => {
        await this.work(member, this.random.below(2) === 0);
        if (this.random.below(2) === 0) await this.tell(member);
      }),
    );
    if (this.random.below(3) === 0) this.ledger.reopen();
    await this.ask();
    this.ledger.calm = true;
    for (const member of this.members) await this.tell(member);
    await this.ask();
    await this.ask();
  }

  /** What the logs say, by the day that each cost was leased on. */
  spent(): { readonly total: number; readonly today: number } {
    let total = 0;
    let today = 0;
    for (const { thread } of this.members) {
      const days = new Map<string, number>();
      for (const event of thread.events()) {
        const { leaseId, costMicros } = event.header;
        if (event.type === "lease.granted" && leaseId !== null && event.payload !== null)
          days.set(leaseId, dayOf(event.payload.until) - 1);
        total += costMicros ?? 0;
        if (days.get(leaseId ?? "") === dayOf(this.clock.now())) today += costMicros ?? 0;
      }
    }
    return { total, today };
  }
}

describe("twenty threads on one budget", () => {
  test(
    "[B28] [B42] [B45] [B46] [B53] whatever dies or is lost: spend never passes the limit, and the ledger is the sum of the logs and the rollup, each round",
    { timeout: 3_600_000 },
    async () => {
      for (let done = 0; done < ROUNDS; done += ROUNDS_OF_A_FLEET)
        await live(SEED + done, Math.min(ROUNDS_OF_A_FLEET, ROUNDS - done));
    },
  );
});

async function live(seed: number, rounds: number): Promise<void> {
  const fleet = new Fleet(seed);
  await fleet.ledger.putBudget(budgetOf(LIMIT), "key_1");
  let used = 0;
  let refused = 0;
  for (let round = 0; round < rounds; round += 1) {
    await fleet.round();
    const { total, today } = fleet.spent();
    const budget = fleet.ledger.budget("money");
    const place = `seed ${seed}, round ${round}`;
    expect(await fleet.ledger.leases(), place).toEqual([]);
    expect(today, place).toBeLessThanOrEqual(LIMIT);
    expect(budget, place).toMatchObject({ spent: today, leased: 0, left: LIMIT - today });
    const all = { from: 0, until: null };
    expect(fleet.ledger.shelf.spent({ kind: "tenant" }, "costMicros", all), place).toBe(total);
    expect(await fleet.rolledUp(), place).toBe(total);
    used += today;
    refused += budget.status === "exhausted" ? 1 : 0;
  }
  const { total } = fleet.spent();
  expect(used).toBe(total);
  // The budget was what bound them, and leases were lost on the way.
  expect(refused).toBeGreaterThan(rounds / 2);
  const declined = fleet.ledger
    .recorded()
    .filter(({ type, payload }) => type === "lease.closed" && payload?.how === "declined");
  expect(declined.length).toBeGreaterThan(0);
  for (const { thread } of fleet.members) expect(thread.chainFault()).toBeNull();
}
