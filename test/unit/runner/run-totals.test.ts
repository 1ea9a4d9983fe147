/** What a run spent: shown while it works, said by the event that ends it, and the sum of its outcomes either way. */
import { describe, expect, test } from "vitest";
import { RunsProjection } from "#adapters/projections/runs-projection.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import { TOTALS_RULE } from "#kernel/run-totals.ts";
import type { RunView } from "#ports/thread-gateway.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const price = {
  version: "p1",
  inputMicrosPerMillion: 1_000_000,
  outputMicrosPerMillion: 2_000_000,
};
const prices = { price: () => price };
const FAIL = [{ error: "overloaded", retryable: true } as const];

/** By the events one by one, in other words than the product's. */
function sum(events: readonly ThreadEvent[], run: string): object {
  const own = events.filter(({ header }) => header.run === run);
  const cost = (kind: string | null): number =>
    own.reduce(
      (total, { header }) =>
        total + (kind === null || header.costKind === kind ? (header.costMicros ?? 0) : 0),
      0,
    );
  const tokens = own.reduce((total, { payload }) => {
    const settlement = payload !== null && "settlement" in payload ? payload.settlement : null;
    return total + (settlement?.tokens ?? 0);
  }, 0);
  return {
    steps: own.filter(({ type }) => type === "model.answered").length,
    costMicros: cost(null),
    recoveryMicros: cost("recovery"),
    estimatedMicros: cost("estimated"),
    unpriced: 0,
    tokens,
  };
}

function ends(thread: ThreadHarness): readonly ThreadEvent[] {
  return thread.events().filter(({ type }) => /^run\.(completed|failed|cancelled)$/.test(type));
}

function counts({ steps, costMicros, recoveryMicros, estimatedMicros, unpriced, tokens }: RunView) {
  return { steps, costMicros, recoveryMicros, estimatedMicros, unpriced, tokens };
}

/** A crash in a model stream, a retry, a run that fails, one that is cancelled in a call, one before it began. */
async function play(): Promise<ThreadHarness> {
  const world = new World();
  const tools = [world.tool("look", "read")];
  const held = new ScriptModel([ask(["look"]), [{ hang: true }]], { by: "call" });
  const thread = new ThreadHarness({ model: held, tools, prices });
  thread.send("a");
  void thread.runtime.drive();
  await expect.poll(() => held.waiting).toBe(1);
  thread.model = new ScriptModel([FAIL, say("one"), ask(["look"]), FAIL, [{ hang: true }]], {
    by: "call",
  });
  thread.reopen();
  thread.send("b");
  thread.send("c");
  thread.cancel("run_3");
  void thread.finish();
  const { model } = thread;
  if (!(model instanceof ScriptModel)) throw new Error("the model is a script");
  await expect.poll(() => model.waiting).toBe(1);
  thread.cancel("run_2");
  await thread.finish();
  return thread;
}

describe("what a run spent", () => {
  test("[B59] the event that ends it says the sum of its outcomes, and its row has the same", async () => {
    const thread = await play();
    const events = thread.events();
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["model.failed", "model.interrupted", "tool.finished"]),
    );
    for (const { header, payload } of ends(thread)) {
      const run = header.run ?? "";
      const expected = sum(events, run);
      expect(counts(thread.run(run))).toEqual(expected);
      const said = payload !== null && "totals" in payload ? payload.totals : null;
      expect(said).toEqual(run === "run_3" ? null : expected);
    }
    expect(ends(thread)).toHaveLength(3);
    expect(thread.run("run_1").recoveryMicros).toBeGreaterThan(0);
    expect(thread.run("run_2").estimatedMicros).toBeGreaterThan(0);
  });

  test("[B59] while it works its view has what was spent so far, after a restart too, and no row was written for it", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["look"]), [{ hold: true }, ...say("end")]]);
    const thread = new ThreadHarness({ model, tools: [world.tool("look", "read")], prices });
    thread.send("go");
    void thread.runtime.drive();
    await expect.poll(() => model.waiting).toBe(1);
    const expected = { steps: 1, costMicros: 20, tokens: 15, unpriced: 0 };
    expect(thread.run("run_1")).toMatchObject({ status: "running", ...expected });
    expect(thread.listRuns()).toMatchObject([expected]);
    const [row] = thread.database.exec("SELECT steps, tokens, cost_micros FROM runs");
    expect(row).toEqual({ steps: 0, tokens: 0, cost_micros: 0 });
    thread.reopen();
    expect(thread.run("run_1")).toMatchObject(expected);
  });

  test("[B59][L12] a log whose runs ended without saying it gives the same rows", async () => {
    const thread = await play();
    const rows = () => thread.database.exec("SELECT * FROM runs ORDER BY start_seq");
    const before = rows();
    const projection = new RunsProjection(thread.database, TOTALS_RULE);
    projection.reset(0);
    for (const event of thread.events()) {
      const { totals: _, ...payload } = { totals: null, ...event.payload };
      projection.apply({ ...event, payload } as ThreadEvent);
    }
    expect(rows()).toEqual(before);
  });
});
