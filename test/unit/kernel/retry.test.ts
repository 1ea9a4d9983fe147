import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { backoffMs, MAX_RETRY_AFTER_MS, retryAt } from "#kernel/retry.ts";
import { estimateTokens } from "#kernel/tokens.ts";

const POLICY = { maxAttempts: 3, baseDelayMs: 1_000, maxDelayMs: 10_000 };
const attempt = {
  failures: 1,
  retryable: true,
  retryAfterMs: null,
  intentId: "evt_1",
  now: 50_000,
};

describe("the next attempt", () => {
  test("[K6] comes after a backoff that doubles, is jittered and bounded, and is the same on replay", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.string(), (failures, seed) => {
        const full = Math.min(10_000, 1_000 * 2 ** (failures - 1));
        const delay = backoffMs(POLICY, failures, seed);
        expect(delay).toBeGreaterThanOrEqual(full / 2);
        expect(delay).toBeLessThanOrEqual(full);
        expect(backoffMs(POLICY, failures, seed)).toBe(delay);
      }),
    );
    expect(backoffMs(POLICY, 1, "evt_1")).not.toBe(backoffMs(POLICY, 1, "evt_2"));
  });

  test("[K6] waits for Retry-After when that is longer, and not when it is shorter", () => {
    const at = retryAt(POLICY, "rate_limited", { ...attempt, retryAfterMs: 60_000 });
    expect(at).toBeGreaterThanOrEqual(110_000);
    expect(at).toBeLessThanOrEqual(116_000);
    expect(retryAt(POLICY, "rate_limited", { ...attempt, retryAfterMs: 1 })).toBe(
      50_000 + backoffMs(POLICY, 1, "evt_1"),
    );
  });

  test("[K6] is spread over agents that were all told the same Retry-After, and never earlier than told", () => {
    const times = Array.from({ length: 40 }, (_, i) =>
      retryAt(POLICY, "rate_limited", { ...attempt, intentId: `evt_${i}`, retryAfterMs: 5_000 }),
    );
    expect(new Set(times).size).toBeGreaterThan(30);
    expect(Math.min(...times.map(Number))).toBeGreaterThanOrEqual(55_000);
    expect(Math.max(...times.map(Number))).toBeLessThanOrEqual(56_000);
  });

  test("[K6] is not made after maxAttempts, nor for an error that is not retryable, nor after hours", () => {
    expect(retryAt(POLICY, "overloaded", { ...attempt, failures: 2 })).not.toBeNull();
    expect(retryAt(POLICY, "overloaded", { ...attempt, failures: 3 })).toBeNull();
    expect(retryAt(POLICY, "overloaded", { ...attempt, retryable: false })).toBeNull();
    expect(retryAt(POLICY, "unauthorized", attempt)).toBeNull();
    expect(
      retryAt(POLICY, "rate_limited", { ...attempt, retryAfterMs: MAX_RETRY_AFTER_MS + 1 }),
    ).toBeNull();
  });
});

describe("the token estimate", () => {
  test.each([
    ["", 0],
    ["hello", 1],
    ["internationally", 3],
    ["12345", 2],
    ["a, b.", 4],
    ["日本", 2],
  ])("[K13] of %j is %i", (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  test("[K13] never exceeds the characters, so that cutting always gets somewhere", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => estimateTokens(text) <= text.length),
    );
  });
});
