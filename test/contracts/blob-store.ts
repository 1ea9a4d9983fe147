/** The contract of BlobStore; rule L8 of docs/SPEC.md. Nothing here imports a runtime. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BlobStore } from "#ports/blob-store.ts";

/** Bytes that differ from place to place, so that a chunk in the wrong place shows. */
function pattern(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (index * 31 + (index >> 8)) & 0xff);
}

/** `toEqual` on megabytes takes seconds. */
function isSame(actual: Uint8Array | null, expected: Uint8Array): boolean {
  return (
    actual?.byteLength === expected.byteLength &&
    actual.every((byte, index) => byte === expected[index])
  );
}

export function blobStoreContract(name: string, makeStore: () => BlobStore): void {
  describe(`blob store: ${name}`, () => {
    test("[L8] what was put comes back byte for byte, at any size around a chunk", () => {
      const store = makeStore();
      for (const length of [0, 1, 524_287, 524_288, 524_289, 1_048_576, 1_048_577]) {
        store.put(`of ${length}`, pattern(length));
        expect(store.size(`of ${length}`)).toBe(length);
        expect(isSame(store.get(`of ${length}`), pattern(length))).toBe(true);
      }
    });

    test("[L8] any range is the slice of the whole", () => {
      const store = makeStore();
      const whole = pattern(1_200_000);
      store.put("a", whole);
      const near = fc.oneof(
        fc.nat(1_300_000),
        fc.constantFrom(0, 524_287, 524_288, 524_289, 1_048_575, 1_048_576, 1_199_999, 1_200_000),
      );
      fc.assert(
        fc.property(near, near, (offset, limit) => {
          const part = store.get("a", { offset, limit });
          expect(isSame(part, whole.slice(offset, offset + limit))).toBe(true);
        }),
        { numRuns: 60 },
      );
      expect(store.get("a", { offset: 1_199_998 })).toEqual(whole.slice(-2));
      expect(store.get("a", { limit: 3 })).toEqual(whole.slice(0, 3));
    });

    test("[L8] an address is stored once, is absent before and after, and can be stored again", () => {
      const store = makeStore();
      expect([store.has("a"), store.size("a"), store.get("a")]).toEqual([false, null, null]);
      store.put("a", new Uint8Array([1]));
      store.put("a", new Uint8Array([2, 2]));
      expect([store.has("a"), store.get("a")]).toEqual([true, new Uint8Array([1])]);
      store.put("b", new Uint8Array([3]));
      store.delete("a");
      store.delete("never there");
      expect([store.has("a"), store.get("a"), store.get("b")]).toEqual([
        false,
        null,
        new Uint8Array([3]),
      ]);
      store.put("a", new Uint8Array([4]));
      expect(store.get("a")).toEqual(new Uint8Array([4]));
    });

    test("[L8] what is stored does not change with the caller's buffer", () => {
      const store = makeStore();
      const buffer = new Uint8Array([1, 2, 3, 4]);
      store.put("a", buffer.subarray(1, 3));
      buffer.fill(9);
      expect(store.get("a")).toEqual(new Uint8Array([2, 3]));
    });
  });
}
