/** What every home of anchors keeps. Run it with a factory for an empty one. */
import { expect, it } from "vitest";
import type { Anchor, AnchorIndex, AnchorStore } from "#ports/anchors.ts";

const ALL = { from: 1, to: Number.MAX_SAFE_INTEGER, limit: 100 };

export function anchor(seq: number, over: Partial<Anchor> = {}): Anchor {
  return {
    tenant: "acme",
    logId: "log_1",
    agent: "clerk",
    thread: "t1",
    seq,
    hash: String(seq % 10).repeat(64),
    at: 1_000,
    keyId: "key",
    signature: "sig",
    ...over,
  };
}

export function anchorStoreContract(create: () => Pick<AnchorStore, "put" | "list">): void {
  const place = { tenant: "acme", logId: "log_1" };

  it("[H2] [H3] what stands at a place stays, whoever delivers it again, and is what is answered", async () => {
    const store = create();
    const first = [anchor(2), anchor(5)];
    expect(await store.put(first)).toEqual(first);
    const again = [anchor(2, { at: 2_000, signature: "later" }), anchor(9)];
    expect(await store.put(again)).toEqual([anchor(2), anchor(9)]);
    expect(await store.list({ ...place, ...ALL })).toEqual([anchor(2), anchor(5), anchor(9)]);
    expect(await store.put([])).toEqual([]);
  });

  it("[H2] lists a range in the order of seq, at most as many as asked", async () => {
    const store = create();
    await store.put([anchor(1_000), anchor(3), anchor(20)]);
    const seqs = async (over: object): Promise<readonly number[]> =>
      (await store.list({ ...place, ...ALL, ...over })).map(({ seq }) => seq);
    expect(await seqs({})).toEqual([3, 20, 1_000]);
    expect(await seqs({ from: 4 })).toEqual([20, 1_000]);
    expect(await seqs({ from: 3, to: 20 })).toEqual([3, 20]);
    expect(await seqs({ limit: 2 })).toEqual([3, 20]);
    expect(await seqs({ from: 20, limit: 1 })).toEqual([20]);
  });

  it("[H2] [Z5] keeps logs and tenants apart", async () => {
    const store = create();
    await store.put([anchor(1)]);
    await store.put([anchor(1, { logId: "log_2" })]);
    await store.put([anchor(1, { tenant: "other" })]);
    expect(await store.list({ ...place, ...ALL })).toEqual([anchor(1)]);
    expect(await store.list({ tenant: "nobody", logId: "log_1", ...ALL })).toEqual([]);
  });

  it("[H3] takes more than one batch", async () => {
    const store = create();
    const many = Array.from({ length: 130 }, (_, index) => anchor(index + 1));
    expect(await store.put(many)).toEqual(many);
    expect(await store.list({ ...place, ...ALL, limit: 200 })).toHaveLength(130);
  });
}

export function anchorIndexContract(create: () => AnchorStore & AnchorIndex): void {
  it("[H12] finds the newest of a log at or below a seq", async () => {
    const store = create();
    await store.put([anchor(10), anchor(20)]);
    const place = { tenant: "acme", logId: "log_1" };
    expect((await store.newest({ ...place, atMost: 19 }))?.seq).toBe(10);
    expect((await store.newest({ ...place, atMost: 20 }))?.seq).toBe(20);
    expect(await store.newest({ ...place, atMost: 9 })).toBeNull();
  });

  it("[H5] gives the newest of each log of a tenant page by page, and of each log that was a thread's", async () => {
    const store = create();
    await store.put([anchor(1), anchor(7)]);
    await store.put([anchor(3, { logId: "log_0" })]);
    await store.put([anchor(4, { logId: "log_9", thread: "t2" })]);
    await store.put([anchor(5, { tenant: "other" })]);
    const found = async (after: string | null, limit = 2): Promise<readonly string[]> =>
      (await store.logs({ tenant: "acme", after, limit })).map(
        ({ logId, seq }) => `${logId} ${seq}`,
      );
    expect(await found(null)).toEqual(["log_0 3", "log_1 7"]);
    expect(await found("log_1")).toEqual(["log_9 4"]);
    expect(await store.ofThread({ tenant: "acme", agent: "clerk", thread: "t1" })).toEqual([
      anchor(3, { logId: "log_0" }),
      anchor(7),
    ]);
  });
}
