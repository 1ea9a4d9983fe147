/** The small stores beside a thread's log: receipts, stream blocks and the list of runs. */
import { describe, expect, test } from "vitest";
import { SqliteCommandStore } from "#adapters/command-store/sqlite-command-store.ts";
import { ZodJsonSchemas } from "#adapters/json-schema/zod-json-schemas.ts";
import { TOTALS_RULE } from "#kernel/run-totals.ts";
import { RunsProjection } from "#adapters/projections/runs-projection.ts";
import { SqliteStreamBlocks } from "#adapters/stream-blocks/sqlite-stream-blocks.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const database = () => new ThreadHarness({ model: null }).database;

describe("receipts", () => {
  const receipt = { seq: 7, runId: "run_1", messageId: null, disposition: "started" } as const;

  test("[K2] a stored receipt comes back whole; an unknown key has none; a key is stored once", () => {
    const store = new SqliteCommandStore(database());
    store.put("k", { bodyDigest: "d", receipt, at: 5 });
    expect(store.get("k")).toEqual({ bodyDigest: "d", receipt, at: 5 });
    expect(store.get("other")).toBeNull();
    expect(() => store.put("k", { bodyDigest: "e", receipt, at: 6 })).toThrow();
    expect(store.get("k")?.bodyDigest).toBe("d");
  });
});

test("[P3] blocks come back in order, per attempt's request, and deleting one leaves the other", () => {
  const blocks = new SqliteStreamBlocks(database());
  for (const idx of [1, 0]) blocks.append({ seq: 5, attempt: 1, idx, text: `b${idx}` });
  blocks.append({ seq: 9, attempt: 2, idx: 0, text: "later" });
  expect(blocks.read(5).map(({ text }) => text)).toEqual(["b0", "b1"]);
  blocks.delete(5);
  expect(blocks.read(5)).toEqual([]);
  expect(blocks.read(9)).toHaveLength(1);
});

describe("runs", () => {
  async function play(): Promise<ThreadHarness> {
    const world = new World();
    const script = [
      ask(["look"]),
      say("one"),
      [{ error: "unauthorized", retryable: false } as const],
    ];
    const thread = new ThreadHarness({
      model: new ScriptModel(script),
      tools: [world.tool("look", "read")],
    });
    for (const text of ["a", "b", "c"]) thread.send(text);
    thread.cancel("run_3");
    await thread.finish();
    return thread;
  }
  const rows = (thread: ThreadHarness) =>
    thread.database.exec("SELECT * FROM runs ORDER BY start_seq");

  test("[L12] rebuilt from the log, the table of runs is the same", async () => {
    const thread = await play();
    const before = rows(thread);
    const projection = new RunsProjection(thread.database, TOTALS_RULE);
    projection.reset(0);
    expect(rows(thread)).toEqual([]);
    for (const event of thread.events()) projection.apply(event);
    expect(rows(thread)).toEqual(before);
  });

  test("[K4] each run is listed once, oldest first, with how it ended", async () => {
    const thread = await play();
    const first = thread.runs.list({ after: 0, limit: 2 });
    expect(first.items.map(({ runId, status }) => [runId, status])).toEqual([
      ["run_1", "completed"],
      ["run_2", "failed"],
    ]);
    const second = thread.runs.list({ after: first.next ?? 0, limit: 2 });
    expect(second).toMatchObject({
      next: null,
      items: [{ runId: "run_3", status: "cancelled", message: "enough" }],
    });
    expect(thread.run("run_1")).toMatchObject({
      text: "one",
      steps: 2,
      tokens: 30,
      finish: "stop",
    });
    expect(thread.runs.get("run_2")).toMatchObject({ reason: "model_rejected", text: null });
    expect(thread.runs.get("run_9")).toBeNull();
  });

  test("[K3] a message too late to steer its run is listed as a run of its own, and is answered", async () => {
    const model = new ScriptModel([[{ hold: true }, ...say("first")], say("second")]);
    const limits = { maxSteps: 1, maxCostMicros: null, maxTokens: null, maxQueuedInputs: 5 };
    const thread = new ThreadHarness({ model, manifest: { limits } });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => model.waiting).toBe(1);
    thread.send("also", { delivery: "steer" });
    model.release();
    await driving;
    expect(thread.listRuns().map(({ status, text }) => [status, text])).toEqual([
      ["completed", "first"],
      ["completed", "second"],
    ]);
  });
});

test("[K17] a value is checked against a JSON Schema, and what does not fit is named by its pointer", () => {
  const schemas = new ZodJsonSchemas();
  const schema = {
    type: "object",
    properties: { a: { type: "array", items: { type: "integer" } } },
    required: ["a"],
  };
  expect(schemas.check(schema, { a: [1, 2] })).toEqual([]);
  expect(schemas.check(schema, { a: [1, "2"] })[0]).toMatch(/^\/a\/1: /);
  expect(schemas.check({ type: "nonsense" }, 1)[0]).toContain("the schema cannot be read");
});
