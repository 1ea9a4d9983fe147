/** A route that fails for good hands over (K26), a prompt that is too long is trimmed once (K27): whole threads. */
import { describe, expect, test } from "vitest";
import type { Prices } from "#ports/prices.ts";
import type { StreamFrame } from "#ports/thread-gateway.ts";
import { ask, say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const FALLBACK = "test/second";
const PRICES: Prices = {
  price: (route) => ({
    version: route.replace("/", "-"),
    inputMicrosPerMillion: 1_000_000,
    outputMicrosPerMillion: route === FALLBACK ? 5_000_000 : 1_000_000,
    cachedInputMicrosPerMillion: 0,
  }),
};

interface Played {
  readonly thread: ThreadHarness;
  readonly first: ScriptModel;
  readonly second: ScriptModel;
  readonly frames: readonly StreamFrame[];
}
async function play(
  firstSteps: readonly (readonly ScriptPart[])[],
  secondSteps: readonly (readonly ScriptPart[])[],
): Promise<Played> {
  const first = new ScriptModel(firstSteps, { by: "call" });
  const second = new ScriptModel(secondSteps, { by: "call" });
  const world = new World();
  const thread = new ThreadHarness({
    model: first,
    tools: [world.tool("look", "read")],
    manifest: { fallbacks: [FALLBACK] },
    prices: PRICES,
  });
  thread.routes.set(FALLBACK, second);
  const subscription = thread.runtime.subscribe({
    from: { seq: 0, attempt: 0, offset: 0 },
    deltas: true,
  });
  const frames: StreamFrame[] = [];
  const reading = (async () => {
    for await (const frame of subscription) frames.push(frame);
  })();
  thread.send("go");
  await thread.finish();
  const { seq } = thread.log.head();
  await expect
    .poll(() => frames.some((frame) => frame.type === "event" && frame.event.header.seq === seq))
    .toBe(true);
  subscription.close();
  await reading;
  return { thread, first, second, frames };
}

const routes = (thread: ThreadHarness) =>
  thread.of("model.requested").map(({ payload }) => payload?.route);
/** The text a reader is left with: a discard takes back what was said before it. */
function shown(frames: readonly StreamFrame[]): string {
  let text = "";
  for (const frame of frames) {
    if (frame.type === "discard") text = "";
    if (frame.type === "delta") text += frame.text;
  }
  return text;
}

describe("a fallback", () => {
  test("[K26] before the first word: after the retries of its route, each attempt an event with its cost", async () => {
    const down: readonly ScriptPart[] = [{ error: "overloaded" }];
    const { thread, first, second } = await play([down, down, down], [say("from the second")]);
    expect(thread.run("run_1")).toMatchObject({ finish: "stop", text: "from the second" });
    expect([first.requests.length, second.requests.length]).toEqual([3, 1]);
    expect(routes(thread)).toEqual(["test/script", "test/script", "test/script", FALLBACK]);
    expect(thread.of("model.requested").map(({ header }) => header.attempt)).toEqual([1, 2, 3, 4]);
    const [answered] = thread.of("model.answered");
    expect(answered?.header).toMatchObject({ priceVersion: "test-second", costMicros: 35 });
    expect(thread.chainFault()).toBeNull();
  });

  test("[K26] [P3] after the first words: they are taken back, and the text is not doubled", async () => {
    const cut: readonly ScriptPart[] = [{ text: "The answer " }, { eof: true }];
    const { thread, frames } = await play([cut, cut, cut], [say("The answer is 4")]);
    expect(thread.run("run_1")).toMatchObject({ finish: "stop", text: "The answer is 4" });
    expect(shown(frames)).toBe("The answer is 4");
    expect(frames.filter(({ type }) => type === "discard")).toHaveLength(3);
    const failed = thread.of("model.failed");
    expect(failed.map(({ payload }) => payload?.partial)).toEqual(Array(3).fill("The answer "));
    const spent = failed.map(({ header }) => header.costMicros ?? 0);
    expect(Math.min(...spent)).toBeGreaterThan(0);
    const whole = thread.of("model.answered")[0]?.header.costMicros ?? 0;
    expect(thread.run("run_1").costMicros).toBe(spent.reduce((sum, cost) => sum + cost, whole));
  });

  test("[K26] at once where the route refuses for good, and over a crash", async () => {
    const refused: readonly ScriptPart[] = [{ error: "unauthorized", retryable: false }];
    const { thread, first, second } = await play([refused], [ask(["look"]), say("done")]);
    expect(thread.run("run_1")).toMatchObject({ finish: "stop", text: "done" });
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    thread.reopen();
    expect(thread.runtime.state.run).toBeNull();
    expect(routes(thread)).toEqual(["test/script", FALLBACK, FALLBACK]);
  });

  test("[K26] that fails too ends the run with its own reason", async () => {
    const down: readonly ScriptPart[] = [{ error: "unavailable", retryable: false }];
    const { thread } = await play([down], [[{ error: "rate_limited", retryable: false }]]);
    expect(thread.run("run_1")).toMatchObject({ status: "failed", reason: "model_unavailable" });
    expect(thread.run("run_1").message).toMatch(/^rate_limited/);
  });
});

describe("a prompt the provider finds too long", () => {
  const tooLong: readonly ScriptPart[] = [{ error: "context_overflow", retryable: false }];

  test("[K27] is sent once more, shorter, and the run goes on", async () => {
    const model = new ScriptModel(
      [say("one ".repeat(500)), say("two ".repeat(500)), tooLong, say("three")],
      { by: "call" },
    );
    const thread = new ThreadHarness({ model });
    for (const text of ["a", "b", "c"]) {
      thread.send(text);
      await thread.finish();
    }
    expect(thread.run("run_3")).toMatchObject({ finish: "stop", text: "three" });
    const [, , before, after] = model.requests.map((request) => JSON.stringify(request.messages));
    expect((after ?? "").length).toBeLessThanOrEqual((before ?? "").length / 2);
    expect(after).toContain('"c"');
  });

  test("[K27] twice ends the run as context_overflow, and asks no other route", async () => {
    const { thread, first, second } = await play([tooLong, tooLong], [say("never")]);
    expect(thread.run("run_1")).toMatchObject({ status: "failed", reason: "context_overflow" });
    expect([first.requests.length, second.requests.length]).toEqual([2, 0]);
  });
});
