/** What every MetricsStore keeps. Run it with a factory for an empty one. */
import { expect, it } from "vitest";
import type { MetricsBatch, MetricsStore, ThreadHealth } from "#ports/metrics.ts";
import { trusted, type AgentName, type TenantId, type ThreadId } from "#shared/ids.ts";

const ACME = trusted<TenantId>("acme");
const ZETA = trusted<TenantId>("zeta");
const CLERK = trusted<AgentName>("clerk");
const HOUR = 500_000;

function batch(over: Partial<MetricsBatch> = {}): MetricsBatch {
  const entries = [{ counter: "runs", label: "started", value: 2 }] as const;
  return { tenant: ACME, agent: CLERK, logId: "log_1", from: 0, to: 4, entries, ...over };
}
function health(over: Partial<ThreadHealth> = {}, thread = "t1", tenant = ACME): ThreadHealth {
  return {
    address: { tenant, agent: CLERK, thread: trusted<ThreadId>(thread) },
    logId: `log_${thread}`,
    wakes: 3,
    hour: HOUR,
    wakesInHour: 2,
    trips: 0,
    stalledWakes: 0,
    stalledSince: null,
    lagEvents: 0,
    lagSince: null,
    ...over,
  };
}

export function metricsContract(create: () => MetricsStore): void {
  it("[H52] counts a batch once, however often it comes", async () => {
    const store = create();
    expect(await store.counted(ACME, "log_1")).toBe(0);
    expect(await store.add(batch())).toBe(true);
    expect(await store.add(batch())).toBe(false);
    expect(await store.counted(ACME, "log_1")).toBe(4);
    expect((await store.read(ACME, HOUR)).counters).toEqual([
      { agent: "clerk", counter: "runs", label: "started", value: 2 },
    ]);
  });

  it("[H52] adds nothing at all where the log is counted further, or less far", async () => {
    const store = create();
    await store.add(batch());
    for (const from of [0, 3, 5]) {
      const entries = [{ counter: "steps", label: "", value: 1 }] as const;
      expect(await store.add(batch({ from, to: 9, entries }))).toBe(false);
    }
    expect((await store.read(ACME, HOUR)).counters).toHaveLength(1);
    expect(await store.counted(ACME, "log_1")).toBe(4);
  });

  it("[H51] sums over the threads of an agent, below what was there too", async () => {
    const store = create();
    const micros = (value: number) => [{ counter: "recovery_micros", label: "", value }] as const;
    await store.add(batch({ entries: micros(40) }));
    await store.add(batch({ from: 4, to: 5, entries: micros(-15) }));
    await store.add(batch({ logId: "log_2", entries: micros(7) }));
    await store.add(
      batch({ agent: trusted<AgentName>("analyst"), logId: "l3", entries: micros(1) }),
    );
    expect(
      (await store.read(ACME, HOUR)).counters.map(({ agent, value }) => [agent, value]),
    ).toEqual([
      ["analyst", 1],
      ["clerk", 32],
    ]);
  });

  it("[H53] a report replaces the one before, and an older one changes nothing", async () => {
    const store = create();
    await store.report(health({ wakes: 9, trips: 1 }));
    await store.report(health({ wakes: 8, trips: 0, lagEvents: 5, lagSince: 1 }));
    await store.report(health({ wakes: 5, wakesInHour: 4 }, "t2"));
    expect((await store.read(ACME, HOUR)).health).toEqual([
      {
        agent: "clerk",
        wakes: 14,
        wakesThisHour: 6,
        busiestThisHour: 4,
        trips: 1,
        stalledThreads: 0,
        laggingThreads: 0,
        lagEvents: 0,
        lagSince: null,
      },
    ]);
    await store.report(health({ wakes: 9, trips: 1, lagEvents: 2, lagSince: 77 }));
    await store.report(health({ wakes: 5, lagEvents: 1, lagSince: 70 }, "t2"));
    expect((await store.read(ACME, HOUR + 1)).health).toMatchObject([
      { wakesThisHour: 0, busiestThisHour: 0, laggingThreads: 2, lagEvents: 3, lagSince: 70 },
    ]);
  });

  it("[H54] names the threads whose breaker is open, the longest first, and at most twenty", async () => {
    const store = create();
    for (let at = 1; at <= 22; at += 1)
      await store.report(health({ stalledWakes: 11, stalledSince: 1_000 - at }, `t${at}`));
    await store.report(health({ wakes: 4 }, "t22"));
    const { health: sums, stalled } = await store.read(ACME, HOUR);
    expect(sums).toMatchObject([{ stalledThreads: 21 }]);
    expect(stalled).toHaveLength(20);
    expect(stalled[0]).toEqual({ agent: "clerk", thread: "t21", wakes: 11, since: 979 });
  });

  it("[H56][Z5] shows a tenant its own", async () => {
    const store = create();
    await store.add(batch());
    await store.report(health({ stalledWakes: 11, stalledSince: 5 }));
    expect(await store.read(ZETA, HOUR)).toEqual({
      counters: [],
      openApprovals: [],
      health: [],
      stalled: [],
    });
    expect(await store.counted(ZETA, "log_1")).toBe(0);
    expect(await store.add(batch({ tenant: ZETA }))).toBe(true);
    expect((await store.read(ACME, HOUR)).counters).toMatchObject([{ value: 2 }]);
  });
}
