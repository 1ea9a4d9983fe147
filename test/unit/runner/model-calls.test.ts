import { describe, expect, test } from "vitest";
import type { Model } from "#ports/model.ts";
import { recompile } from "#test/support/recompile.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const failuresOf = (thread: ThreadHarness) =>
  thread.of("model.failed").map(({ payload }) => [payload?.code, payload?.retryAt !== null]);

describe("attempts", () => {
  test("[K6] a route that this deployment has no model for fails the run at once, and costs nothing", async () => {
    const thread = new ThreadHarness({ model: null });
    thread.send("go");
    await thread.finish();
    expect(failuresOf(thread)).toEqual([["unavailable", false]]);
    expect(thread.run("run_1")).toMatchObject({
      status: "failed",
      reason: "model_unavailable",
      tokens: 0,
    });
    expect(thread.run("run_1").message).toContain("test/script");
  });

  test("[K6] a model that says nothing for a minute is given up as timeout and tried again", async () => {
    const model = new ScriptModel([[{ text: "hm" }, { hang: true }], say("better")], {
      by: "call",
    });
    const thread = new ThreadHarness({ model });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => model.waiting).toBe(1);
    thread.timers.advance(59_999);
    expect(failuresOf(thread)).toEqual([]);
    thread.timers.advance(1);
    await driving;
    expect(failuresOf(thread)).toEqual([["timeout", true]]);
    expect(thread.of("model.failed")[0]?.payload?.partial).toBe("hm");
    expect(thread.run("run_1").text).toBe("better");
    await expect.poll(() => model.waiting).toBe(0);
  });

  test("[K6] an upstream that ends without a finish is stream_incomplete, and one that throws is stream_error", async () => {
    const throwing = new ScriptModel([[{ text: "half" }, { eof: true }], say("whole")], {
      by: "call",
    });
    const thread = new ThreadHarness({ model: throwing });
    thread.send("go");
    await thread.finish();
    expect(failuresOf(thread)).toEqual([["stream_incomplete", true]]);
    let calls = 0;
    const broken: Model = {
      route: "test/broken",
      stream: (request, options) => {
        calls += 1;
        if (calls === 1) throw new Error("adapter defect");
        return new ScriptModel([say("fine")], { by: "call" }).stream(request, options);
      },
    };
    const other = new ThreadHarness({ model: broken });
    other.send("go");
    await other.finish();
    expect(failuresOf(other)).toEqual([["stream_error", true]]);
    expect(other.run("run_1").text).toBe("fine");
  });

  test("[K6] an error that is not retryable ends the run after one attempt", async () => {
    const model = new ScriptModel([[{ error: "unauthorized", retryable: false }]], { by: "call" });
    const thread = new ThreadHarness({ model });
    thread.send("go");
    await thread.finish();
    expect(model.requests).toHaveLength(1);
    expect(thread.run("run_1")).toMatchObject({ status: "failed", reason: "model_rejected" });
  });

  test("[G3] missing usage is estimated and marked", async () => {
    const thread = new ThreadHarness({
      model: new ScriptModel([[{ text: "some words here" }, { finish: "stop" }]]),
    });
    thread.send("go");
    await thread.finish();
    const [answer] = thread.of("model.answered");
    expect(answer?.payload?.settlement.estimated).toBe(true);
    expect(answer?.payload?.settlement.tokens).toBeGreaterThan(3);
    expect(answer?.header.costKind).toBe("estimated");
  });

  test("[L11] header of an answer names run, step, attempt, definition and its intent", async () => {
    const thread = new ThreadHarness({ model: new ScriptModel([say("hi")]) });
    thread.send("go");
    await thread.finish();
    const [intent] = thread.of("model.requested");
    expect(thread.of("model.answered")[0]?.header).toMatchObject({
      tenant: "acme",
      thread: "main",
      run: "run_1",
      step: 1,
      attempt: 1,
      cause: intent?.header.id,
      definition: intent?.header.definition,
    });
  });
});

describe("prompts", () => {
  test("[K10] [K11] compiling the recorded references of every request again gives the recorded digest and the sent messages", async () => {
    const world = new World();
    const model = new ScriptModel([
      ask(["look"], ["look"]),
      ask(["nope"]),
      say("first"),
      ask(["look"]),
      say("second"),
    ]);
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("look", "read", () => "seen ".repeat(50))],
    });
    thread.send("one");
    await thread.finish();
    thread.reopen();
    thread.send("two");
    await thread.finish();
    const rebuilt = recompile(thread.events());
    expect(rebuilt.map(({ compiled }) => compiled.digest)).toEqual(
      rebuilt.map(({ recorded }) => recorded),
    );
    expect(rebuilt.map(({ compiled }) => compiled.request)).toEqual(model.requests);
    expect(model.requests).toHaveLength(5);
  });

  test("[K18] a run finishes on the manifest it began with; the next one has the new one", async () => {
    const model = new ScriptModel([[{ hold: true }, ...ask(["look"])], say("one"), say("two")]);
    const world = new World();
    const thread = new ThreadHarness({ model, tools: [world.tool("look", "read")] });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => model.waiting).toBe(1);
    Object.assign(thread, { manifest: { ...thread.manifest, instructions: "Be brief." } });
    thread.send("again");
    model.release();
    await driving;
    expect(model.requests.map(({ instructions }) => instructions)).toEqual([
      "Help.",
      "Help.",
      "Be brief.",
    ]);
  });
});

describe("answers", () => {
  const output = {
    name: "n",
    schema: {
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false,
    },
  };

  test("[K17] an answer that does not fit is asked for again with what is wrong, and the value is recorded", async () => {
    const model = new ScriptModel([say("three"), say('{"n":"3"}'), say('```json\n{"n":3}\n```')]);
    const thread = new ThreadHarness({ model });
    thread.send("count", { output });
    await thread.finish();
    expect(thread.run("run_1")).toMatchObject({ status: "completed", output: { n: 3 } });
    expect(thread.of("context.added").map(({ payload }) => payload?.kind)).toEqual([
      "repair",
      "repair",
    ]);
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain("/n");
  });

  test("[K17] after the last repair the run fails as output_invalid", async () => {
    const thread = new ThreadHarness({
      model: new ScriptModel([say("a"), say("b"), say("c"), say("d")]),
    });
    thread.send("count", { output });
    await thread.finish();
    expect(thread.run("run_1")).toMatchObject({
      status: "failed",
      reason: "output_invalid",
      steps: 3,
    });
  });

  test("[K20] a call cut off by the output limit is refused even when it parses; the call before it runs", async () => {
    const world = new World();
    const put = world.tool("put", "once");
    const model = new ScriptModel([
      [
        { call: { id: "c1", name: "put", args: '{"path":"b.txt"}' } },
        { call: { id: "c2", name: "put", args: '{"path":"a.txt"}' } },
        { finish: "length", usage: { output: 64 } },
      ],
      say("smaller now"),
    ]);
    const thread = new ThreadHarness({ model, tools: [put] });
    thread.send("go");
    await thread.finish();
    expect(world.executions.map(({ args }) => args)).toEqual([{ path: "b.txt" }]);
    expect(thread.of("tool.refused").map(({ payload }) => payload?.refusal.code)).toEqual([
      "tool_args_truncated",
    ]);
  });

  test("[K22] a provider that reuses one call id in every step gets each call run once, with ids of ours", async () => {
    const world = new World();
    const step = (p: string) =>
      [
        { call: { id: "read:0", name: "read", args: JSON.stringify({ p }) } },
        { finish: "tool_calls" },
      ] as const;
    const model = new ScriptModel([step("a"), step("b"), step("b"), say("end")]);
    const thread = new ThreadHarness({ model, tools: [world.tool("read", "read")] });
    thread.send("go");
    await thread.finish();
    expect(world.executions.map(({ args }) => args["p"])).toEqual(["a", "b", "b"]);
    expect(new Set(world.executions.map(({ key }) => key)).size).toBe(3);
  });
});

describe("size", () => {
  async function rowsWritten(steps: number): Promise<number> {
    const world = new World();
    const rounds = Array.from({ length: steps }, (_, at) =>
      ask(["look", { at, n: 1 }], ["look", { at, n: 2 }], ["look", { at, n: 3 }]),
    );
    const thread = new ThreadHarness({
      model: new ScriptModel([...rounds, say("done")]),
      tools: [world.tool("look", "read")],
    });
    thread.send("go");
    const before = Number(thread.database.exec("SELECT total_changes() AS n")[0]?.["n"]);
    await thread.finish();
    expect(world.executions).toHaveLength(steps * 3);
    return Number(thread.database.exec("SELECT total_changes() AS n")[0]?.["n"]) - before;
  }

  test("[K13] a step with n calls writes at most 2(1+n)+2 rows, projections included", async () => {
    expect((await rowsWritten(3)) - (await rowsWritten(2))).toBeLessThanOrEqual(2 * (1 + 3) + 2);
  });
});
