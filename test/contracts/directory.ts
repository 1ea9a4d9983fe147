/** What every Directory keeps. Run it with a factory for an empty one. */
import { expect, it } from "vitest";
import type { Directory, ThreadQuery, ThreadRecord } from "#ports/directory.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";

const tenant = trusted<TenantId>("acme");
const agent = trusted<AgentName>("analyst");
const thread = (id: string) => trusted<ThreadId>(id);

function record(id: string, over: Partial<ThreadRecord> = {}): ThreadRecord {
  const base = { tenant, agent, thread: thread(id), owner: "u1", title: null };
  return { ...base, createdAt: 100, lastSeq: 0, updatedAt: 100, ...over };
}
function query(over: Partial<ThreadQuery> = {}): ThreadQuery {
  return { tenant, visible: { to: "tenant" }, agent: null, after: null, limit: 50, ...over };
}
const names = (records: readonly ThreadRecord[]) => records.map((each) => each.thread);

export function directoryContract(createDirectory: () => Directory): void {
  it("[Z4] answers the first registration again, whoever registers second", async () => {
    const directory = createDirectory();
    const first = record("t1", { owner: "u1", title: "first" });
    expect(await directory.register(first)).toEqual(first);
    expect(await directory.register(record("t1", { owner: "u2", title: "second" }))).toEqual(first);
    expect(await directory.get(tenant, agent, thread("t1"))).toEqual(first);
  });

  it("[Z5] finds nothing under another tenant or agent", async () => {
    const directory = createDirectory();
    await directory.register(record("t1"));
    expect(await directory.get(trusted<TenantId>("other"), agent, thread("t1"))).toBeNull();
    expect(await directory.get(tenant, trusted<AgentName>("other"), thread("t1"))).toBeNull();
    expect(await directory.list(query({ tenant: trusted<TenantId>("other") }))).toEqual([]);
  });

  it("[Z5] lists only threads of the given owner", async () => {
    const directory = createDirectory();
    await directory.register(record("mine", { owner: "u1" }));
    await directory.register(record("yours", { owner: "u2" }));
    expect(names(await directory.list(query({ visible: { to: "owner", owner: "u1" } })))).toEqual([
      "mine",
    ]);
    expect(await directory.list(query({ visible: { to: "owner", owner: "" } }))).toEqual([]);
    expect(names(await directory.list(query()))).toHaveLength(2);
  });

  it("[P7] pages newest first, each thread once, also those of the same millisecond", async () => {
    const directory = createDirectory();
    const other = trusted<AgentName>("writer");
    for (const id of ["a", "b", "c"]) {
      await directory.register(record(id, { createdAt: 100 }));
      await directory.register(record(id, { createdAt: 100, agent: other }));
    }
    await directory.register(record("newest", { createdAt: 200 }));
    const seen: string[] = [];
    let after: ThreadRecord | null = null;
    for (let page = 0; page < 10; page += 1) {
      const records: readonly ThreadRecord[] = await directory.list(query({ after, limit: 2 }));
      seen.push(...records.map((each) => `${each.agent}/${each.thread}`));
      after = records.at(-1) ?? null;
      if (after === null) break;
    }
    expect(seen[0]).toBe("analyst/newest");
    expect(seen).toHaveLength(7);
    expect(new Set(seen).size).toBe(7);
    expect(names(await directory.list(query({ agent: other })))).toEqual(["c", "b", "a"]);
  });

  it("[L10] a late or repeated touch never lowers what was seen", async () => {
    const directory = createDirectory();
    await directory.register(record("t1"));
    const touch = (lastSeq: number, at: number) =>
      directory.touch({ tenant, agent, thread: thread("t1"), lastSeq, at });
    await touch(9, 900);
    await touch(4, 400);
    await touch(9, 900);
    expect(await directory.get(tenant, agent, thread("t1"))).toMatchObject({
      lastSeq: 9,
      updatedAt: 900,
    });
    await directory.touch({ tenant, agent, thread: thread("missing"), lastSeq: 1, at: 1 });
    expect(await directory.get(tenant, agent, thread("missing"))).toBeNull();
  });
}
