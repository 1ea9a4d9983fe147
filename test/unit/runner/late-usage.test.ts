/** Prices that nobody knows, and usage that comes late, through the runtime. */
import { describe, expect, test } from "vitest";
import type { ThreadEvent } from "#kernel/events.ts";
import type { RoutePrice } from "#ports/prices.ts";
import { toSettlement } from "#runner/pricing.ts";
import { NO_PRICES } from "#test/support/free-prices.ts";
import { say, ScriptModel } from "#test/support/scripted-model.ts";
import { MANIFEST, ThreadHarness } from "#test/support/thread-harness.ts";

const PRICE: RoutePrice = {
  version: "p1",
  inputMicrosPerMillion: 1_000_000,
  outputMicrosPerMillion: 2_000_000,
};
const prices = { price: () => PRICE };
const CAPPED = { limits: { ...MANIFEST.limits, maxCostMicros: 1_000_000 } };

const sumOf = (events: readonly ThreadEvent[]): number =>
  events.reduce((sum, { header }) => sum + (header.costMicros ?? 0), 0);

function correct(
  thread: ThreadHarness,
  outcome: ThreadEvent,
  said: { readonly input: number; readonly output: number; readonly price?: RoutePrice | null },
) {
  const { input: inputTokens, output: outputTokens, price = PRICE } = said;
  const none = { cachedInputTokens: null, cacheWriteTokens: null, reasoningTokens: null };
  const usage = { inputTokens, outputTokens, ...none };
  const estimate = { input: 0, output: 0 };
  const after = toSettlement(usage, { route: MANIFEST.route, price, estimate });
  return thread.runtime.submit(
    { type: "correct_usage", outcome, after, priceVersion: price?.version ?? null },
    { actor: "op_1", idempotencyKey: null, bodyDigest: "" },
  );
}

describe("a price that nobody knows", () => {
  test("[B23] under a cap in money the call is refused before its intent, and nothing is dispatched", async () => {
    const model = new ScriptModel([say("never")]);
    const thread = new ThreadHarness({ model, prices: NO_PRICES, manifest: CAPPED });
    thread.send("go");
    await thread.finish();
    expect(thread.run("run_1")).toMatchObject({ status: "failed", reason: "price_unknown" });
    expect(thread.run("run_1").message).toContain("PUT /v1/prices");
    expect(model.requests).toHaveLength(0);
    expect(thread.types()).not.toContain("model.requested");
  });

  test("[B23] without a cap it runs, and its cost is null and counted, never 0", async () => {
    const thread = new ThreadHarness({ model: new ScriptModel([say("hi")]), prices: NO_PRICES });
    thread.send("go");
    await thread.finish();
    expect(thread.run("run_1")).toMatchObject({ costMicros: null, unpriced: 1, tokens: 15 });
    const [outcome] = thread.of("model.answered");
    expect(outcome?.header).toMatchObject({ costMicros: null, priceVersion: null });
    expect(outcome?.payload?.settlement.unpriced).toBe(true);
  });

  test("[B26] a cost that nobody knew is known once the route has a price and the usage is told", async () => {
    const thread = new ThreadHarness({ model: new ScriptModel([say("hi")]), prices: NO_PRICES });
    thread.send("go");
    await thread.finish();
    const [outcome] = thread.of("model.answered");
    expect(outcome && correct(thread, outcome, { input: 10, output: 5 }).ok).toBe(true);
    expect(thread.run("run_1")).toMatchObject({ costMicros: 20, unpriced: 0, tokens: 15 });
    expect(sumOf(thread.events())).toBe(20);
  });
});

async function lost(): Promise<{ thread: ThreadHarness; outcome: ThreadEvent }> {
  const model = new ScriptModel([[{ hang: true }], say("again")]);
  const thread = new ThreadHarness({ model, prices });
  thread.send("go");
  void thread.runtime.drive();
  await expect.poll(() => model.waiting).toBe(1);
  thread.model = new ScriptModel([say("again")]);
  thread.reopen();
  await thread.finish();
  const [outcome] = thread.of("model.interrupted");
  if (outcome === undefined) throw new Error("the attempt was not closed");
  return { thread, outcome };
}

describe("usage that comes late", () => {
  test("[B25] a lost attempt costs its reservation until then, under the price it was reserved with", async () => {
    const { thread, outcome } = await lost();
    const [intent] = thread.of("model.requested");
    expect(outcome.header).toMatchObject({
      costMicros: intent?.payload?.reservation.costMicros,
      costKind: "estimated",
      priceVersion: "p1",
    });
    expect(thread.run("run_1").estimatedMicros).toBe(intent?.payload?.reservation.costMicros);
  });

  test("[B26][B27] replaces the estimate by an event that holds the difference", async () => {
    const { thread, outcome } = await lost();
    const before = thread.run("run_1");
    expect(correct(thread, outcome, { input: 40, output: 4 }).ok).toBe(true);
    const [correction] = thread.of("usage.corrected");
    const estimate = outcome.header.costMicros ?? 0;
    expect(correction?.header).toMatchObject({
      costMicros: 48 - estimate,
      costKind: "normal",
      cause: outcome.header.cause,
      attempt: 1,
      actor: "op_1",
    });
    const after = thread.run("run_1");
    expect(after.estimatedMicros).toBe(0);
    expect(after.recoveryMicros).toBe(20);
    expect(after.costMicros).toBe((before.costMicros ?? 0) - estimate + 48);
    expect(after.costMicros).toBe(sumOf(thread.events()));
    expect(after.tokens).toBe(44 + 15);
  });

  test("[B26] what the provider said already is not replaced", async () => {
    const { thread } = await lost();
    const [answered] = thread.of("model.answered");
    const refused = answered && correct(thread, answered, { input: 1, output: 1 });
    expect(refused).toMatchObject({ ok: false, error: { reason: "usage_final" } });
    const [input] = thread.of("input.received");
    expect(input && correct(thread, input, { input: 1, output: 1 })).toMatchObject({
      error: { reason: "usage_unknown" },
    });
    expect(thread.types()).not.toContain("usage.corrected");
  });

  test("[B26] a known cost never becomes unknown", async () => {
    const { thread, outcome } = await lost();
    expect(correct(thread, outcome, { input: 1, output: 1, price: null })).toMatchObject({
      error: { reason: "usage_unpriced" },
    });
  });

  test("[B26] an answer that arrives after its run was cancelled replaces the reservation taken for it", async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const boundary = {
      cross: (point: string) => (point === "after_dispatch" ? gate : undefined),
    };
    const thread = new ThreadHarness({ model: new ScriptModel([say("late")]), prices, boundary });
    thread.send("go");
    const driven = thread.runtime.drive();
    await expect.poll(() => thread.types().includes("model.requested")).toBe(true);
    expect(thread.cancel("run_1").ok).toBe(true);
    const reserved = thread.run("run_1").costMicros ?? 0;
    expect(reserved).toBeGreaterThan(20);
    open();
    await driven;
    await expect.poll(() => thread.of("usage.corrected").length).toBe(1);
    expect(thread.run("run_1")).toMatchObject({ costMicros: 20, estimatedMicros: 0, tokens: 15 });
    expect(sumOf(thread.events())).toBe(20);
    expect(thread.of("model.answered")).toHaveLength(0);
  });
});
