/** The loop guard in a whole thread with its default hooks: what is stopped, when, and what passes. */
import { describe, expect, test } from "vitest";
import type { LoopReport } from "#kernel/events.ts";
import type { Json } from "#shared/json.ts";
import { KernelDriver } from "#test/support/kernel-driver.ts";
import { ask, say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { ThreadHarness, type HarnessOptions } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

type Step = readonly ScriptPart[];
const times = (count: number, step: (index: number) => Step): Step[] =>
  Array.from({ length: count }, (_, index) => step(index));

interface Played {
  readonly thread: ThreadHarness;
  readonly model: ScriptModel;
  readonly world: World;
}
async function play(
  script: readonly Step[],
  results: { readonly [tool: string]: (n: number, args: Json) => Json },
  more: Partial<HarnessOptions> = {},
): Promise<Played> {
  const world = new World();
  const model = new ScriptModel([...script, say("done")]);
  const tools = Object.entries(results).map(([name, result]) => {
    let calls = 0;
    return world.tool(name, "read", (args) => result((calls += 1), args));
  });
  const thread = new ThreadHarness({ model, tools, ...more });
  thread.send("go");
  await thread.finish();
  return { thread, model, world };
}

function loopOf({ thread }: Played): LoopReport | undefined {
  return thread.of("run.completed").at(-1)?.payload?.loop;
}
const warnings = ({ thread }: Played): readonly LoopReport[] =>
  thread.of("context.added").flatMap(({ payload }) => payload?.loop ?? []);

describe("equal calls with equal results", () => {
  test("[B1] [B3] [B4] 200 in a row are stopped by the 5th, after a warning that the model saw", async () => {
    const played = await play(
      times(200, () => ask(["get_status", { id: 1 }])),
      { get_status: () => "unknown" },
    );
    expect(played.world.executions).toHaveLength(5);
    expect(played.model.requests).toHaveLength(5);
    expect(played.thread.run("run_1")).toMatchObject({ status: "completed", finish: "loop_guard" });
    expect(loopOf(played)).toEqual({
      pattern: "repeat",
      tool: "get_status",
      args: expect.stringMatching(/^[0-9a-f]{16}$/),
      count: 5,
    });
    expect(warnings(played)).toMatchObject([{ pattern: "repeat", tool: "get_status", count: 3 }]);
    const shown = (index: number): string => JSON.stringify(played.model.requests[index]?.messages);
    expect(shown(2)).not.toContain("made 3 times");
    expect(shown(3)).toContain("The same call of get_status was made 3 times");
    expect(played.thread.chainFault()).toBeNull();
  });

  test("[B1] arguments in another order, or encoded twice, are the same arguments", async () => {
    const played = await play(
      times(9, (index) => ask(["look", index % 2 === 0 ? { a: 1, b: 2 } : { b: 2, a: 1 }])),
      { look: () => "same" },
    );
    expect(played.world.executions).toHaveLength(5);
  });

  test("[B5] equal calls of one answer count before any of them has come back", async () => {
    const three = ask(["look", { id: 1 }], ["look", { id: 1 }], ["look", { id: 1 }]);
    const played = await play(
      times(9, () => three),
      { look: () => "unknown" },
    );
    expect(played.world.executions).toHaveLength(5);
    expect(played.model.requests).toHaveLength(2);
    expect(loopOf(played)).toMatchObject({ pattern: "repeat", tool: "look", count: 5 });
    expect(played.thread.of("tool.refused").map(({ payload }) => payload?.refusal.code)).toEqual([
      "loop_guard",
    ]);
  });

  test("[B5] an answer with more equal calls than may start goes on where their results differ", async () => {
    const dice = ask(...Array.from({ length: 8 }, () => ["roll", {}] as const));
    const played = await play([dice, dice, say("done")], { roll: (n) => n });
    expect(played.world.executions).toHaveLength(10);
    expect(played.thread.run("run_1")).toMatchObject({ finish: "stop" });
  });

  test("[B1] a call that is refused in the same words each time is a repeat too", async () => {
    const world = new World();
    const tool = world.tool("look", "read", () => "x", {
      parse: () => ({ ok: false, error: [{ path: "/id", message: "expected a number" }] }),
    });
    const model = new ScriptModel([...times(20, () => ask(["look", { id: "one" }])), say("done")]);
    const thread = new ThreadHarness({ model, tools: [tool] });
    thread.send("go");
    await thread.finish();
    expect(model.requests).toHaveLength(5);
    expect(thread.of("run.completed")[0]?.payload?.loop).toMatchObject({ count: 5 });
  });

  test("[B2] large results are told apart by what the preview does not show", async () => {
    const around = (middle: string): string => `${"a".repeat(9_000)}${middle}${"b".repeat(9_000)}`;
    const changing = await play(
      times(12, () => ask(["look"])),
      { look: (n) => around(String(n % 10) + String(n)) },
    );
    expect(changing.thread.run("run_1")).toMatchObject({ finish: "stop" });
    const constant = await play(
      times(12, () => ask(["look"])),
      { look: () => around("m") },
    );
    expect(constant.world.executions).toHaveLength(5);
  });
});

describe("cycles", () => {
  test("[B1] A-B-A-B is stopped within 6 hops, A-B-C within 9", async () => {
    const names = ["a", "b", "c"];
    const results = { a: () => "a", b: () => "b", c: () => "c" };
    const two = await play(
      times(60, (index) => ask([names[index % 2] ?? "a"])),
      results,
    );
    expect(two.world.executions).toHaveLength(6);
    expect(loopOf(two)).toMatchObject({ pattern: "cycle_2", tool: "b", count: 6 });
    expect(warnings(two)).toMatchObject([{ pattern: "cycle_2", count: 4 }]);
    const three = await play(
      times(60, (index) => ask([names[index % 3] ?? "a"])),
      results,
    );
    expect(three.world.executions).toHaveLength(9);
    expect(loopOf(three)).toMatchObject({ pattern: "cycle_3", tool: "c", count: 9 });
  });
});

describe("no progress", () => {
  test("[B1] arguments that only number the request do not make it another one", async () => {
    const played = await play(
      times(200, (n) => ask(["get_status", { id: 1, request_id: `r${n}`, ts: 1_000 + n }])),
      { get_status: () => "unknown" },
    );
    expect(played.world.executions.length).toBeLessThanOrEqual(10);
    expect(loopOf(played)).toMatchObject({ pattern: "no_progress", tool: "get_status", count: 9 });
  });

  test("[B1] a longer cycle, and calls that jump about among what is known, are stopped", async () => {
    const played = await play(
      times(60, (index) => ask(["look", { page: index % 5 }])),
      { look: (_, args) => args },
    );
    expect(played.world.executions).toHaveLength(13);
    expect(loopOf(played)).toMatchObject({ pattern: "no_progress", count: 9 });
  });
});

describe("what passes", () => {
  const passes = async (...play_: Parameters<typeof play>): Promise<Played> => {
    const played = await play(...play_);
    expect(played.thread.run("run_1")).toMatchObject({ finish: "stop", text: "done" });
    return played;
  };
  const limits = { maxSteps: 100, maxCostMicros: null, maxTokens: null, maxQueuedInputs: 1 };

  test("[B6] 50 honest polls, also with a wait that says the same each time between them", async () => {
    const manifest = { limits };
    await passes(
      times(50, () => ask(["poll", { job: 1 }])),
      { poll: (n) => ({ percent: n * 2 }) },
      { manifest },
    );
    const played = await passes(
      times(50, (index) => ask([index % 2 === 0 ? "poll" : "wait", {}])),
      { poll: (n) => ({ percent: n * 2 }), wait: () => "waited" },
      { manifest },
    );
    expect(warnings(played)).toEqual([]);
  });

  test("[B6] 18 different calls of one tool that all say the same", async () => {
    const played = await passes(
      times(18, (q) => ask(["search", { q: `word ${q}` }])),
      { search: () => "nothing found" },
    );
    expect(played.world.executions).toHaveLength(18);
    expect(warnings(played)).toEqual([]);
  });

  test("[B6] a retry after errors", async () => {
    const failing = (n: number): Json => {
      if (n < 4) throw new Error("connection reset");
      return "there";
    };
    await passes(
      times(4, () => ask(["fetch", { url: "a" }])),
      { fetch: failing },
    );
  });

  test("[B6] reading again after each of many changes, also where the reading says the same", async () => {
    const script = times(40, (n) =>
      n % 2 === 0 ? ask(["test", {}]) : ask(["write", { path: "a", line: n }]),
    );
    const played = await passes(script, { test: () => "3 failed", write: () => "written" });
    expect(warnings(played)).toEqual([]);
  });

  test("[B6] the same call after somebody has said something to the live run", () => {
    const driver = new KernelDriver().create();
    driver.send("is it there?");
    for (let step = 0; step < 10; step += 1) {
      if (step % 4 === 3) driver.send("look again", { delivery: "steer" });
      driver.pumpAll();
      driver.answer({ calls: [{ name: "look" }] });
      driver.pumpAll();
      driver.finishTool({ output: "no" });
    }
    expect(driver.types()).not.toContain("run.completed");
  });

  test("[B6] the same question in a new run", async () => {
    const world = new World();
    const look = world.tool("look", "read", () => "same");
    const model = new ScriptModel(
      times(24, (index) => (index % 4 === 3 ? say("so") : ask(["look"]))),
    );
    const thread = new ThreadHarness({ model, tools: [look] });
    for (let run = 0; run < 6; run += 1) {
      thread.send("and now?");
      await thread.finish();
    }
    expect(thread.listRuns().map(({ finish }) => finish)).toEqual(Array(6).fill("stop"));
    expect(world.executions).toHaveLength(18);
  });
});

describe("limits", () => {
  test("[B7] of the agent", async () => {
    const manifest = { loop: { maxRepeats: 2 } };
    const played = await play(
      times(9, () => ask(["look"])),
      { look: () => "same" },
      { manifest },
    );
    expect(played.world.executions).toHaveLength(2);
    expect(warnings(played)).toEqual([]);
  });

  test("[B7] of a tool, which also holds for cycles that it is part of", async () => {
    const world = new World();
    const polled = world.tool("poll", "read", () => "pending", {
      limits: { timeoutMs: 1_000, maxResultBytes: 100, maxCallsPerRun: 100, maxRepeats: 20 },
    });
    const tools = [polled, world.tool("wait", "read", () => "waited")];
    const run = async (script: readonly Step[]): Promise<number> => {
      const before = world.executions.length;
      const thread = new ThreadHarness({ model: new ScriptModel([...script, say("x")]), tools });
      thread.send("go");
      await thread.finish();
      expect(thread.run("run_1").finish).toBe("loop_guard");
      return world.executions.length - before;
    };
    expect(await run(times(40, () => ask(["poll"])))).toBe(20);
    expect(await run(times(40, (n) => ask([n % 2 === 0 ? "poll" : "wait"])))).toBe(24);
  });
});
