/** The rollup under a delivery that repeats, breaks off and interleaves: it is the sum of the logs, exactly. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { D1SpendStore } from "#adapters/spend/d1-spend.ts";
import { checkSpend, spendConsumer } from "#durable-objects/agent/outbox-spend.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import { toCorrection } from "#kernel/usage-correction.ts";
import type { Usage } from "#ports/model.ts";
import type { RoutePrice } from "#ports/prices.ts";
import type { SpendDimension, SpendPlace, SpendStore } from "#ports/spend.ts";
import { toCostScope, toSettlement } from "#runner/pricing.ts";
import { trusted, type AgentName, type TenantId, type ThreadId } from "#shared/ids.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { createRandom, type SeededRandom } from "#test/support/seeded-random.ts";

const TENANT = trusted<TenantId>("acme");
const DAY = 86_400_000;
const PRICES: readonly (RoutePrice | null)[] = [
  null,
  { version: "a", inputMicrosPerMillion: 250_000, outputMicrosPerMillion: 2_000_000 },
  {
    version: "b",
    inputMicrosPerMillion: 3_000_000,
    cachedInputMicrosPerMillion: 300_000,
    cacheWriteMicrosPerMillion: 3_750_000,
    reasoningMicrosPerMillion: 20_000_000,
    outputMicrosPerMillion: 15_000_000,
  },
];
const DIMENSIONS: readonly SpendDimension[] = [
  "day",
  "agent",
  "thread",
  "owner",
  "route",
  "tool",
  "kind",
];

interface Thread {
  readonly place: SpendPlace;
  readonly events: readonly ThreadEvent[];
}

function createThread(random: SeededRandom, index: number, calls: number): Thread {
  const place = {
    tenant: TENANT,
    agent: trusted<AgentName>(`agent-${index % 3}`),
    thread: trusted<ThreadId>(`t${index}`),
    owner: `u${index % 2}`,
  };
  const events: ThreadEvent[] = [];
  const push = (type: string, scope: object, payload: object): void => {
    const seq = events.length + 1;
    const header = { seq, type, at: 1_700_000_000_000 + random.below(3) * DAY, ...scope };
    // Only what the sums read: logs of the runtime itself are rolled up in test/workers/spend.test.ts.
    events.push({ type, header, hash: "", payload } as unknown as ThreadEvent);
  };
  for (let call = 0; call < calls; call += 1) {
    const which = random.below(PRICES.length);
    const price = PRICES[which] ?? null;
    const route = `workers-ai/model-${which}`;
    const settlement = toSettlement(usageOf(random), {
      route,
      price,
      estimate: { input: 90, output: 9 },
    });
    const version = price?.version ?? null;
    const scope = toCostScope(settlement, { recovery: random.below(9) === 0, version });
    push("model.answered", { ...scope, cause: `evt_${call}` }, { settlement });
    const outcome = events.at(-1);
    if (outcome !== undefined && settlement.estimated && random.below(2) === 0) {
      const after = toSettlement(known(random), {
        route,
        price,
        estimate: { input: 0, output: 0 },
      });
      const correction = toCorrection(outcome, { after, priceVersion: version });
      if (correction.ok)
        push("usage.corrected", correction.value.scope ?? {}, correction.value.payload);
    }
    if (random.below(3) === 0)
      push("tool.started", { costMicros: null }, { name: "look", mode: "execute" });
  }
  return { place, events };
}

function usageOf(random: SeededRandom): Usage | null {
  return random.below(5) === 0 ? null : known(random);
}

function known(random: SeededRandom): Usage {
  const cachedInputTokens = random.below(3_000);
  const cacheWriteTokens = random.below(500);
  const reasoningTokens = random.below(400);
  return {
    inputTokens: cachedInputTokens + cacheWriteTokens + random.below(2_000),
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens: reasoningTokens + random.below(900),
    reasoningTokens,
  };
}

const spentBy = (events: readonly ThreadEvent[]): number =>
  events.reduce((sum, { header }) => sum + (header.costMicros ?? 0), 0);

/** Batches in order in each log, threads in any order, each batch delivered once or more, also half done. */
async function deliver(store: SpendStore, threads: readonly Thread[], random: SeededRandom) {
  const left = threads.map((thread) => ({ thread, at: 0 }));
  while (left.length > 0) {
    const turn = random.below(left.length);
    const next = left[turn];
    if (next === undefined) return;
    const { place, events } = next.thread;
    const consumer = spendConsumer(place, `log_${place.thread}`, store);
    const size = 1 + random.below(120);
    await consumer.deliver(events.slice(next.at, next.at + size));
    // A crash before the outbox moved its cursor: the same comes again, and more behind it.
    const isRepeated = random.below(3) === 0;
    if (!isRepeated) next.at += size;
    if (next.at >= events.length) left.splice(turn, 1);
  }
}

async function total(store: SpendStore, groupBy: readonly SpendDimension[]): Promise<number> {
  const all = { from: null, to: null, where: {}, after: null, limit: 100_000 } as const;
  const groups = await store.sum({ tenant: TENANT, visible: { to: "tenant" }, groupBy, ...all });
  return groups.reduce((sum, { micros }) => sum + micros, 0);
}

function logOf({ place, events }: Thread) {
  const read = ({ from = 1, to = events.length, limit = 500 } = {}): readonly ThreadEvent[] =>
    events.filter(({ header }) => header.seq >= from && header.seq <= to).slice(0, limit);
  return { logId: `log_${place.thread}`, read, base: () => ({ seq: 0, hash: "" }) };
}

describe("spend", () => {
  it("[B27][B28] 10,000 mixed calls: the sum of the leaves is the root, to the micro-dollar", async () => {
    const random = createRandom(42);
    const threads = Array.from({ length: 20 }, (_, index) => createThread(random, index, 500));
    const store = new D1SpendStore(createNodeD1().d1);
    await deliver(store, threads, random);
    const root = threads.reduce((sum, { events }) => sum + spentBy(events), 0);
    expect(root).toBeGreaterThan(1_000_000);
    for (const dimension of DIMENSIONS) expect(await total(store, [dimension])).toBe(root);
    expect(await total(store, DIMENSIONS)).toBe(root);
    for (const thread of threads) {
      const { place } = thread;
      const check = await checkSpend(logOf(thread), { place, store, replace: false });
      expect(check).toMatchObject({ differing: 0, micros: spentBy(thread.events) });
    }
  });

  it("[B28] two processes that deliver one log at once count it once", async () => {
    const random = createRandom(7);
    const thread = createThread(random, 1, 40);
    const store = new D1SpendStore(createNodeD1().d1);
    const consumer = spendConsumer(thread.place, "log_t1", store);
    await Promise.all([0, 3, 9].map((skip) => consumer.deliver(thread.events.slice(0, 60 - skip))));
    await consumer.deliver(thread.events);
    expect(await total(store, ["day"])).toBe(spentBy(thread.events));
  });

  it("[B29] a rollup that was changed is found, and replaced by what the log says", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000_000 }), async (seed) => {
        const random = createRandom(seed);
        const thread = createThread(random, 1, 12);
        const { d1, sqlite } = createNodeD1();
        const store = new D1SpendStore(d1);
        await deliver(store, [thread], random);
        const source = { place: thread.place, store };
        sqlite.exec(
          "UPDATE spend SET micros = micros + 1 WHERE rowid = (SELECT min(rowid) FROM spend)",
        );
        const found = await checkSpend(logOf(thread), { ...source, replace: false });
        expect(found).toMatchObject({ differing: 1, replaced: false });
        const mended = await checkSpend(logOf(thread), { ...source, replace: true });
        expect(mended).toMatchObject({ differing: 1, replaced: true });
        expect(await total(store, ["tool"])).toBe(spentBy(thread.events));
        const pruned = { ...logOf(thread), base: () => ({ seq: 3, hash: "" }) };
        await expect(checkSpend(pruned, { ...source, replace: true })).rejects.toThrow("pruned");
        const again = await checkSpend(logOf(thread), { ...source, replace: true });
        expect(again).toMatchObject({ differing: 0, replaced: false });
      }),
      { numRuns: 15 },
    );
  });
});
