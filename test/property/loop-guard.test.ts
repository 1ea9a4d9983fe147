/** The loop guard over random sequences of calls: honest work is never stopped, and going in circles always is. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addCall,
  digestCall,
  FRESH_LOOP,
  inspectLoop,
  type LoopState,
} from "#kernel/loop-guard.ts";
import { textDigest } from "#shared/text-digest.ts";
import type { JsonObject } from "#shared/json.ts";
import { MANIFEST } from "#test/support/kernel-fixture.ts";

interface Call {
  readonly tool: string;
  readonly args: JsonObject;
  readonly result: string;
}

/** Index of the call after which a run is stopped, or null. */
function stoppedAt(calls: readonly Call[]): number | null {
  let loop: LoopState = FRESH_LOOP;
  for (const [index, { tool, args, result }] of calls.entries()) {
    const digests = digestCall({ args, argsText: "" }, "read");
    loop = addCall(loop, { tool, ...digests, result: textDigest(result) });
    const found = inspectLoop(loop, MANIFEST);
    if (found?.verdict === "stop") return index;
    if (found?.verdict === "warn") loop = { ...loop, warned: true };
  }
  return null;
}

const TOOLS = ["read", "search", "poll", "write"];
const call = fc.record({ tool: fc.constantFrom(...TOOLS), args: fc.record({ id: fc.nat(3) }) });

/** Something new, then up to three calls that bring what is known already, in any order. */
const block = fc.tuple(call, fc.array(fc.nat(1_000), { maxLength: 3 }));
const honest = fc.array(block, { maxLength: 40 }).map((blocks) => {
  const calls: Call[] = [];
  for (const [index, [fresh, again]] of blocks.entries()) {
    calls.push({ ...fresh, result: `news ${index}` });
    for (const pick of again) calls.push(calls[pick % calls.length]!);
  }
  return calls;
});

/** Calls that are all different: by tool, by arguments, or by what they bring. */
const cycle = fc.uniqueArray(call, {
  minLength: 1,
  maxLength: 12,
  selector: ({ tool, args }) => `${tool} ${args.id}`,
});

/** Most calls until a cycle of this period is stopped, counted from its beginning. */
function bound(period: number): number {
  if (period === 1) return 5;
  return period <= 3 ? period * 3 : period + 8;
}

describe("random sequences", () => {
  test("[B6] honest work is never stopped, nor is different work that says the same", () => {
    fc.assert(
      fc.property(honest, (calls) => {
        expect(stoppedAt(calls)).toBeNull();
      }),
    );
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 60 }), (queries) => {
        const calls = queries.map((q) => ({ tool: "search", args: { q }, result: "nothing" }));
        expect(stoppedAt(calls)).toBeNull();
      }),
    );
  });

  test("[B1] whatever went before, a cycle is stopped, in time and not before it has shown itself", () => {
    fc.assert(
      fc.property(honest, cycle, (before, period) => {
        const rounds = Array.from({ length: 40 }, () => period).flat();
        const calls = rounds.map((each) => ({ ...each, result: "as ever" }));
        const at = stoppedAt([...before, ...calls]);
        expect(at).not.toBeNull();
        const made = (at ?? 0) - before.length + 1;
        expect(made).toBeGreaterThanOrEqual(2);
        expect(made).toBeLessThanOrEqual(bound(period.length));
      }),
    );
  });

  test("[B1] so is the same request under ever new numbers", () => {
    const noise = fc.constantFrom("request_id", "requestId", "ts", "trace-id", "nonce");
    fc.assert(
      fc.property(call, fc.uniqueArray(noise, { minLength: 1 }), (each, names) => {
        const calls = Array.from({ length: 40 }, (_, index): Call => {
          const numbered = Object.fromEntries(names.map((name) => [name, index]));
          return { tool: each.tool, args: { ...each.args, ...numbered }, result: "as ever" };
        });
        expect((stoppedAt(calls) ?? Infinity) + 1).toBeLessThanOrEqual(10);
      }),
    );
  });

  test("[B8] state stays bounded, however long a run is", () => {
    let loop: LoopState = FRESH_LOOP;
    for (let index = 0; index < 1_000; index += 1) {
      const args = { index: index % 7 };
      const digests = digestCall({ args, argsText: "" }, "read");
      loop = addCall(loop, { tool: "t".repeat(500), ...digests, result: "r" });
    }
    expect(JSON.stringify(loop).length).toBeLessThan(4_000);
  });
});

test("[B2] texts that differ have digests that differ, and the digest of a text is fixed", () => {
  const seen = new Map<string, string>();
  for (let index = 0; index < 10_000; index += 1) {
    for (const text of [`${index}`, `{"id":${index}}`, "x".repeat(index % 500) + index]) {
      const digest = textDigest(text);
      expect(seen.get(digest) ?? text).toBe(text);
      seen.set(digest, text);
    }
  }
  expect(textDigest("")).toMatch(/^[0-9a-f]{16}$/);
  expect(textDigest("holdfast")).toBe(textDigest("holdfast"));
});
