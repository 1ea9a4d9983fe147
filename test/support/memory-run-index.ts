/** RunIndex in memory; passes test/contracts/run-index.ts. */
import type { RunFilter, RunIndex, RunPosition, RunRecord } from "#ports/run-index.ts";

export class MemoryRunIndex implements RunIndex {
  readonly #records = new Map<string, RunRecord>();

  async put(record: RunRecord): Promise<void> {
    const key = `${record.tenant}/${record.run}`;
    const known = this.#records.get(key);
    if (known === undefined || known.seq < record.seq) this.#records.set(key, record);
  }

  async list({
    after,
    limit,
    ...filter
  }: Parameters<RunIndex["list"]>[0]): Promise<readonly RunRecord[]> {
    return this.#matching(filter)
      .filter((record) => after === null || newestFirst(after, record) < 0)
      .toSorted(newestFirst)
      .slice(0, limit);
  }

  async count(filter: RunFilter): Promise<number> {
    return this.#matching(filter).length;
  }

  #matching({ tenant, visible, agent, statuses, since }: RunFilter): readonly RunRecord[] {
    return [...this.#records.values()]
      .filter((record) => record.tenant === tenant && record.agent === agent)
      .filter((record) => visible.to === "tenant" || record.owner === visible.owner)
      .filter(({ status }) => statuses === null || statuses.includes(status))
      .filter(({ at }) => since === null || at > since);
  }
}

function newestFirst(a: RunPosition, b: RunPosition): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.run === b.run) return 0;
  return a.run < b.run ? 1 : -1;
}
