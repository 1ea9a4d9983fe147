/** What every RunIndex keeps. Run it with a factory for an empty one. */
import { expect, it } from "vitest";
import type { RunFilter, RunIndex, RunPosition, RunRecord } from "#ports/run-index.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";

const tenant = trusted<TenantId>("acme");
const agent = trusted<AgentName>("clerk");

function record(run: string, over: Partial<RunRecord> = {}): RunRecord {
  const thread = trusted<ThreadId>("t1");
  return { tenant, agent, thread, owner: "u1", run, status: "running", at: 100, seq: 1, ...over };
}
function filter(over: Partial<RunFilter> = {}): RunFilter {
  return { tenant, agent, visible: { to: "tenant" }, statuses: null, since: null, ...over };
}
async function find(
  index: RunIndex,
  over: Partial<RunFilter> = {},
  page: { after: RunPosition | null; limit: number } = { after: null, limit: 50 },
): Promise<readonly string[]> {
  return (await index.list({ ...filter(over), ...page })).map(({ run }) => run);
}

export function runIndexContract(createIndex: () => RunIndex): void {
  it("[P97] what is known up to a later seq stays, whatever order deliveries come in", async () => {
    const index = createIndex();
    const ended = record("run_1", { status: "completed", at: 300, seq: 9 });
    await index.put(record("run_1"));
    await index.put(ended);
    await index.put(ended);
    await index.put(record("run_1", { status: "waiting", at: 200, seq: 5 }));
    expect(await index.list({ ...filter(), after: null, limit: 50 })).toEqual([ended]);
    expect(await index.count(filter())).toBe(1);
  });

  it("[P97] [Z5] finds nothing of another tenant or agent, and for a user only runs of the user's threads", async () => {
    const index = createIndex();
    await index.put(record("run_mine"));
    await index.put(record("run_yours", { owner: "u2" }));
    const mine = { to: "owner", owner: "u1" } as const;
    expect(await find(index, { visible: mine })).toEqual(["run_mine"]);
    expect(await index.count(filter({ visible: mine }))).toBe(1);
    expect(await find(index, { tenant: trusted<TenantId>("other") })).toEqual([]);
    expect(await find(index, { agent: trusted<AgentName>("writer") })).toEqual([]);
    expect(await index.count(filter())).toBe(2);
  });

  it("[P97] newest change first; pages give each run once, those of one millisecond included", async () => {
    const index = createIndex();
    const runs = ["run_a", "run_b", "run_c", "run_d", "run_e"];
    for (const [at, run] of runs.entries()) await index.put(record(run, { at: Math.min(at, 3) }));
    expect(await find(index)).toEqual(["run_e", "run_d", "run_c", "run_b", "run_a"]);
    const seen: string[] = [];
    for (let after: RunPosition | null = null; ;) {
      const page: readonly RunRecord[] = await index.list({ ...filter(), after, limit: 2 });
      seen.push(...page.map(({ run }) => run));
      if (page.length < 2) break;
      after = page.at(-1) ?? null;
    }
    expect(seen).toEqual(["run_e", "run_d", "run_c", "run_b", "run_a"]);
  });

  it("[P97] filters by status and by time", async () => {
    const index = createIndex();
    await index.put(record("run_1", { status: "completed", at: 100 }));
    await index.put(record("run_2", { status: "waiting", at: 200 }));
    await index.put(record("run_3", { status: "queued", at: 300 }));
    expect(await find(index, { statuses: ["completed", "queued"] })).toEqual(["run_3", "run_1"]);
    expect(await find(index, { statuses: [] })).toEqual([]);
    expect(await find(index, { since: 100 })).toEqual(["run_3", "run_2"]);
    expect(await index.count(filter({ since: 200 }))).toBe(1);
  });
}
