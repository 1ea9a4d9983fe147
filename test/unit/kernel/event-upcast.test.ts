import { describe, expect, test } from "vitest";
import { createCatalogue, THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import type { Json } from "#shared/json.ts";

interface Fake {
  readonly "thing.done": { readonly names: readonly string[]; readonly count: number };
}
const first = (payload: Json): Json => ({ names: [(payload as { name: string }).name] });
const second = (payload: Json): Json => ({ ...(payload as { names: string[] }), count: 1 });

describe("older versions of events", () => {
  test("[L6] are brought to the current one, step by step", () => {
    const catalogue = createCatalogue<Fake>(
      "fake",
      { "thing.done": 3 },
      { "thing.done": { 1: first, 2: second } },
    );
    expect(catalogue.upcast("thing.done", 1, { name: "a" })).toEqual({ names: ["a"], count: 1 });
    expect(catalogue.upcast("thing.done", 2, { names: ["b"] })).toEqual({ names: ["b"], count: 1 });
  });

  test("[L6] without a step to the next one do not get as far as a log", () => {
    expect(() =>
      createCatalogue<Fake>("fake", { "thing.done": 3 }, { "thing.done": { 1: first } }),
    ).toThrow("version 2");
  });

  test("[L6] of a thread are all at 1", () => {
    expect(new Set(Object.values(THREAD_CATALOGUE.versions))).toEqual(new Set([1]));
  });
});
