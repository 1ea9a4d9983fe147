/** The contract of Eraser: counting has no effect, erasing twice is erasing once, and what others hold stays. */
import { expect, it } from "vitest";
import type { Eraser, ErasureScope } from "#ports/eraser.ts";

export interface EraserHarness {
  readonly eraser: Eraser;
  /** Puts one thing of that thread and run into the store. */
  put(scope: ErasureScope): Promise<void>;
  /** How many things are left of that thread. */
  left(scope: ErasureScope): Promise<number>;
}

/** `byRun`: the store can tell things of one run from those of another. */
export function eraserContract(
  open: () => EraserHarness,
  { byRun }: { readonly byRun: boolean },
): void {
  const thread = (id: string, runId: string | null = null): ErasureScope =>
    ({ tenant: "acme", agent: "analyst", thread: id, runId }) as ErasureScope;

  it("[H32] counts without effect, erases once and for all, and leaves other threads alone", async () => {
    const { eraser, put, left } = open();
    await put(thread("t1", "r1"));
    await put(thread("t2", "r2"));
    expect(await eraser.count(thread("t1"))).toBe(1);
    expect(await eraser.count(thread("t1"))).toBe(1);
    for (let time = 0; time < 2; time += 1) {
      await eraser.erase(thread("t1"));
      expect([await left(thread("t1")), await left(thread("t2"))]).toEqual([0, 1]);
    }
    expect(await eraser.count(thread("t1"))).toBe(0);
    expect(await eraser.count(thread("t3"))).toBe(0);
  });

  it("[H30] of one run it takes that run's alone", async () => {
    const { eraser, put, left } = open();
    await put(thread("t1", "r1"));
    if (byRun) await put(thread("t1", "r2"));
    const before = await left(thread("t1"));
    expect(await eraser.count(thread("t1", "r1"))).toBe(byRun ? 1 : 0);
    await eraser.erase(thread("t1", "r1"));
    expect(await left(thread("t1"))).toBe(byRun ? 1 : before);
  });
}
