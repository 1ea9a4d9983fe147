import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PromptRef } from "#kernel/events.ts";
import type { LastRequest, WindowEntry } from "#kernel/state.ts";
import {
  encodeRefs,
  FULL_EVERY,
  MAX_ENTRIES,
  resolveRefs,
  selectEntries,
  trimWindow,
  windowTokens,
} from "#kernel/window.ts";

const entry = (
  seq: number,
  kind: WindowEntry["kind"],
  tokens: number,
  unit = seq,
): WindowEntry => ({ ref: [seq, 0, 0], kind, tokens, chars: tokens * 4, unit });
const step = (seq: number, tokens: number): readonly WindowEntry[] => [
  entry(seq, "assistant", tokens),
  entry(seq + 1, "result", tokens, seq),
];
const seqs = (entries: readonly WindowEntry[]): readonly number[] =>
  entries.map(({ ref }) => ref[0]);
const refs = (...list: readonly number[]): readonly PromptRef[] =>
  list.map((seq) => [seq, 0, 0] as const);

describe("trimming", () => {
  test("[K8] returns the very same window while it fits", () => {
    const window = [entry(1, "user", 10), ...step(2, 10)];
    expect(trimWindow(window, { budget: 100, planSeq: null })).toBe(window);
  });

  test("[K8] drops whole steps from the front, with their results, and begins with a user's turn", () => {
    const window = [entry(1, "user", 30), ...step(2, 30), entry(4, "user", 10), ...step(5, 10)];
    expect(seqs(trimWindow(window, { budget: 130, planSeq: null }))).toEqual([4, 5, 6]);
  });

  test("[K8] drops a step that lost what stood before it, also where all fits", () => {
    const window = [...step(1, 10), entry(3, "user", 10), ...step(4, 10), entry(6, "context", 10)];
    expect(seqs(trimWindow(window, { budget: 1_000, planSeq: 6 }))).toEqual([3, 4, 5, 6]);
  });

  test("[K8] keeps the newest user message when the steps after it do not fit, and the newest step", () => {
    const window = [entry(1, "user", 10), ...step(2, 40), ...step(4, 40), ...step(6, 10)];
    expect(seqs(trimWindow(window, { budget: 150, planSeq: null }))).toEqual([1, 6, 7]);
  });

  test("[K8] keeps the newest step also when a note or the plan stands behind it", () => {
    const window = [entry(1, "user", 10), ...step(2, 40), ...step(4, 40), entry(6, "context", 10)];
    expect(seqs(trimWindow(window, { budget: 110, planSeq: null }))).toEqual([1, 4, 5, 6]);
  });

  test("[K8] goes below three quarters of the budget, so that the next trim is far", () => {
    const window = Array.from({ length: 40 }, (_, i) => entry(i + 1, "user", 20));
    const kept = trimWindow(window, { budget: 900, planSeq: null });
    expect(windowTokens(kept)).toBeLessThanOrEqual(675);
    expect(windowTokens(kept)).toBeGreaterThan(600);
  });

  test("[K8] cuts one huge result instead of dropping all before it", () => {
    const window = [entry(1, "user", 50), entry(2, "assistant", 5), entry(3, "result", 5_000, 2)];
    const kept = trimWindow(window, { budget: 1_000, planSeq: null });
    expect(kept.map(({ ref }) => ref)).toEqual([
      [1, 0, 0],
      [2, 0, 0],
      [3, 0, 2_000],
    ]);
    expect(windowTokens(kept)).toBeLessThanOrEqual(1_000);
  });

  test("[K19] keeps the plan", () => {
    const window = [
      entry(1, "context", 10),
      ...Array.from({ length: 40 }, (_, i) => entry(i + 2, "user", 20)),
    ];
    expect(seqs(trimWindow(window, { budget: 500, planSeq: 1 }))[0]).toBe(1);
  });

  test("[K13] bounds the number of entries too", () => {
    const window = Array.from({ length: 1_000 }, (_, i) => entry(i + 1, "user", 1));
    expect(trimWindow(window, { budget: 1_000_000, planSeq: null }).length).toBeLessThanOrEqual(
      MAX_ENTRIES,
    );
  });

  const units = fc.array(
    fc.tuple(fc.constantFrom("user", "step", "context"), fc.integer({ min: 1, max: 400 })),
    { minLength: 1, maxLength: 60 },
  );

  test("[K8] of any window fits the budget where cutting can, pairs all calls, and is the same when done again", () => {
    fc.assert(
      fc.property(units, fc.integer({ min: 500, max: 4_000 }), (list, budget) => {
        let seq = 2;
        const window = [entry(1, "user", 5)];
        for (const [kind, tokens] of list) {
          window.push(
            ...(kind === "step"
              ? [entry(seq, "assistant", 5), entry(seq + 1, "result", tokens, seq)]
              : [entry(seq, kind, tokens)]),
          );
          seq += 2;
        }
        const kept = trimWindow(window, { budget, planSeq: null });
        expect(windowTokens(kept)).toBeLessThanOrEqual(budget);
        expect(kept[0]?.kind).not.toBe("assistant");
        expect(kept[0]?.kind).not.toBe("result");
        for (const unit of new Set(kept.map((item) => item.unit))) {
          expect(kept.filter((item) => item.unit === unit)).toHaveLength(
            window.filter((item) => item.unit === unit).length,
          );
        }
        const newestUser = window.findLast((item) => item.kind === "user");
        expect(seqs(kept)).toContain(newestUser?.ref[0]);
        expect(trimWindow(kept, { budget, planSeq: null })).toBe(kept);
      }),
      { numRuns: 500 },
    );
  });
});

describe("references", () => {
  const last = (list: readonly PromptRef[], sinceFull = 0): LastRequest => ({
    seq: 50,
    refs: list,
    sinceFull,
  });

  test("[K10] are a change of the last request when the window grew or lost its front", () => {
    expect(encodeRefs(refs(1, 2, 3), last(refs(1, 2)))).toEqual({
      base: 50,
      drop: 0,
      add: refs(3),
    });
    expect(encodeRefs(refs(2, 3), last(refs(1, 2)))).toEqual({ base: 50, drop: 1, add: refs(3) });
  });

  test("[K10] are listed in full first, after any other change, and at least every 32 requests", () => {
    expect(encodeRefs(refs(1), null).base).toBeNull();
    expect(encodeRefs(refs(1, 3), last(refs(1, 2, 3))).base).toBeNull();
    expect(encodeRefs([[1, 0, 9]], last(refs(1))).base).toBeNull();
    expect(encodeRefs(refs(1, 2), last(refs(1), FULL_EVERY - 1)).base).toBeNull();
    expect(encodeRefs(refs(1, 2), last(refs(1), FULL_EVERY - 2)).base).toBe(50);
  });

  const list = fc.uniqueArray(fc.nat(30), { maxLength: 12 }).map((items) => refs(...items));

  test("[K10] resolve to what was encoded, whatever changed", () => {
    fc.assert(
      fc.property(list, list, (before, after) => {
        expect(resolveRefs(encodeRefs(after, last(before)), last(before))).toEqual(after);
      }),
    );
  });

  test("[K14] to another base, or to no entry, do not resolve", () => {
    expect(resolveRefs({ base: 49, drop: 0, add: [] }, last(refs(1)))).toBeNull();
    expect(resolveRefs({ base: 50, drop: 2, add: [] }, last(refs(1)))).toBeNull();
    expect(selectEntries([entry(1, "user", 1)], refs(2))).toBeNull();
  });
});
