/** What every SpendStore keeps. Run it with a factory for an empty one. */
import { expect, it } from "vitest";
import { NO_SPEND, type SpendEntry } from "#kernel/spend.ts";
import type { SpendBatch, SpendPlace, SpendQuery, SpendStore } from "#ports/spend.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";

const PLACE = place("t1", "u1");

function place(thread: string, owner: string, tenant = "acme"): SpendPlace {
  return {
    tenant: trusted<TenantId>(tenant),
    agent: trusted<AgentName>("clerk"),
    thread: trusted<ThreadId>(thread),
    owner,
  };
}
function entry(over: Partial<SpendEntry> = {}): SpendEntry {
  const key = { day: "2026-11-30", route: "workers-ai/x", tool: "", kind: "normal" } as const;
  return { ...key, ...NO_SPEND, calls: 1, micros: 10, input: 100, output: 5, ...over };
}
function batch(over: Partial<SpendBatch> = {}): SpendBatch {
  return { place: PLACE, logId: "log_1", from: 0, to: 4, entries: [entry()], ...over };
}
function query(over: Partial<SpendQuery> = {}): SpendQuery {
  return {
    tenant: PLACE.tenant,
    visible: { to: "tenant" },
    from: null,
    to: null,
    where: {},
    groupBy: ["day"],
    after: null,
    limit: 100,
    ...over,
  };
}

export function spendContract(create: () => SpendStore): void {
  it("[B28] counts a batch once, however often it comes", async () => {
    const store = create();
    expect(await store.counted(PLACE.tenant, "log_1")).toBe(0);
    expect(await store.add(batch())).toBe(true);
    expect(await store.add(batch())).toBe(false);
    expect(await store.counted(PLACE.tenant, "log_1")).toBe(4);
    expect(await store.entries(PLACE)).toEqual([entry()]);
  });

  it("[B28] adds to what is there, below zero too, and keeps apart what differs in any key", async () => {
    const store = create();
    await store.add(batch({ entries: [entry(), entry({ kind: "estimated", micros: 7 })] }));
    const taken = entry({ kind: "estimated", calls: -1, micros: -7, input: -100, output: -5 });
    await store.add(batch({ from: 4, to: 9, entries: [entry({ micros: 3 }), taken] }));
    const rows = await store.entries(PLACE);
    expect(rows).toHaveLength(2);
    expect(rows.find(({ kind }) => kind === "normal")).toMatchObject({ calls: 2, micros: 13 });
    expect(rows.find(({ kind }) => kind === "estimated")).toMatchObject({ calls: 0, micros: 0 });
  });

  it("[B28] adds nothing at all where the log is counted further, or less far", async () => {
    const store = create();
    await store.add(batch());
    for (const from of [0, 3, 5])
      expect(
        await store.add(batch({ from, to: 9, entries: [entry(), entry({ tool: "x" })] })),
      ).toBe(false);
    expect(await store.entries(PLACE)).toEqual([entry()]);
    expect(await store.counted(PLACE.tenant, "log_1")).toBe(4);
  });

  it("[B29] replaces a thread's rows under its cursor only, and no other thread's", async () => {
    const store = create();
    const other = place("t2", "u2");
    await store.add(batch());
    await store.add(batch({ place: other, logId: "log_2" }));
    expect(await store.replace(batch({ from: 3, to: 3, entries: [] }))).toBe(false);
    expect(await store.entries(PLACE)).toEqual([entry()]);
    const right = entry({ micros: 99 });
    expect(await store.replace(batch({ from: 4, to: 4, entries: [right] }))).toBe(true);
    expect(await store.entries(PLACE)).toEqual([right]);
    expect(await store.entries(other)).toEqual([entry()]);
  });

  it("[B28] sums by any dimensions, with what was paid again and what was estimated apart", async () => {
    const store = create();
    await store.add(
      batch({
        entries: [
          entry(),
          entry({ day: "2026-12-01", micros: 5, unpriced: 1 }),
          entry({ kind: "recovery", micros: 4 }),
          entry({ kind: "estimated", micros: 2 }),
        ],
      }),
    );
    await store.add(batch({ place: place("t2", "u2"), logId: "log_2", entries: [entry()] }));
    const days = await store.sum(query());
    expect(
      days.map(({ values, micros, recoveryMicros, estimatedMicros, unpriced }) => [
        ...values,
        micros,
        recoveryMicros,
        estimatedMicros,
        unpriced,
      ]),
    ).toEqual([
      ["2026-11-30", 26, 4, 2, 0],
      ["2026-12-01", 5, 0, 0, 1],
    ]);
    const owners = await store.sum(query({ groupBy: ["owner", "kind"], to: "2026-11-30" }));
    expect(owners.map(({ values, micros }) => [...values, micros])).toEqual([
      ["u1", "estimated", 2],
      ["u1", "normal", 10],
      ["u1", "recovery", 4],
      ["u2", "normal", 10],
    ]);
  });

  it("[B30] shows a tenant its own, and an owner the owner's", async () => {
    const store = create();
    await store.add(batch());
    await store.add(batch({ place: place("t1", "u1", "zeta"), entries: [entry({ micros: 77 })] }));
    await store.add(batch({ place: place("t2", "u2"), logId: "log_2" }));
    expect((await store.sum(query()))[0]?.micros).toBe(20);
    const own = query({ visible: { to: "owner", owner: "u2" }, groupBy: ["thread"] });
    expect((await store.sum(own)).map(({ values }) => values)).toEqual([["t2"]]);
    expect(await store.sum({ ...own, where: { owner: "u1" } })).toEqual([]);
  });

  it("[P7] page by page gives each group once", async () => {
    const store = create();
    const entries = ["a", "b", "c"].flatMap((tool) =>
      ["2026-11-29", "2026-11-30"].map((day) => entry({ tool, day })),
    );
    await store.add(batch({ entries }));
    const seen: string[] = [];
    for (let after: readonly string[] | null = null; ;) {
      const page = await store.sum(query({ groupBy: ["tool", "day"], after, limit: 4 }));
      seen.push(...page.map(({ values }) => values.join(" ")));
      after = page.at(-1)?.values ?? null;
      if (page.length < 4) break;
    }
    expect(seen).toEqual(entries.map(({ tool, day }) => `${tool} ${day}`));
  });
}
