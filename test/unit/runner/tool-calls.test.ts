import { describe, expect, test } from "vitest";
import { AppError } from "#shared/errors.ts";
import type { Tool } from "#ports/tool.ts";
import { CrashBoundary } from "#test/support/crash-boundary.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { hangUntilAborted, World, type Behaviour } from "#test/support/world.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function callOnce(
  behaviour: Behaviour,
  overrides: Partial<Tool> = {},
): Promise<{ thread: ThreadHarness; world: World; model: ScriptModel }> {
  const world = new World();
  const model = new ScriptModel([ask(["work"]), say("done")]);
  const thread = new ThreadHarness({
    model,
    tools: [world.tool("work", "idempotent", behaviour, overrides)],
  });
  thread.send("go");
  await thread.finish();
  expect(thread.run("run_1").status).toBe("completed");
  return { thread, world, model };
}

const resultOf = (thread: ThreadHarness) => thread.of("tool.finished")[0]?.payload?.result;

describe("results", () => {
  test("[T4] [K9] text is shown as it is, other values as JSON, and nothing as a placeholder", async () => {
    expect(resultOf((await callOnce(() => "plain")).thread)?.output).toBe("plain");
    expect(resultOf((await callOnce(() => ({ a: [1, null] }))).thread)?.output).toBe(
      '{"a":[1,null]}',
    );
    expect(resultOf((await callOnce(() => "")).thread)?.output).toBe("(no output)");
  });

  test("[L7] lone surrogates of a result become U+FFFD", async () => {
    expect(resultOf((await callOnce(() => "a\uD800b")).thread)?.output).toBe("a\uFFFDb");
  });

  test("[T4] a long result is shown as a bounded preview with size and handle; the whole is stored byte for byte", async () => {
    const whole = Array.from({ length: 3_000 }, (_, line) => `line ${line} – ü`).join("\n");
    const { thread } = await callOnce(() => whole);
    const result = resultOf(thread);
    expect(bytes(result?.output ?? "").length).toBeLessThanOrEqual(4_096);
    expect(result?.output).not.toContain("\uFFFD");
    expect(result?.output.startsWith("line 0 – ü\n")).toBe(true);
    expect(result?.output.endsWith("line 2999 – ü")).toBe(true);
    expect(result?.output).toContain(`${bytes(whole).length} bytes in all`);
    expect(result?.output).toContain(result?.handle ?? "no handle");
    expect(result).toMatchObject({ status: "ok", bytes: bytes(whole).length });
    expect(thread.file(result?.handle ?? "")).toBe(whole);
  });

  test("[T4] the longest result that fits is shown whole, one byte more is cut", async () => {
    expect(resultOf((await callOnce(() => "x".repeat(4_096))).thread)).toMatchObject({
      handle: null,
      bytes: 4_096,
    });
    expect(resultOf((await callOnce(() => "x".repeat(4_097))).thread)?.handle).not.toBeNull();
  });

  test("[T4] a later call reads the stored whole through its handle", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["big"]), ask(["tail"]), say("done")]);
    const thread = new ThreadHarness({
      model,
      tools: [
        world.tool("big", "read", () => "y".repeat(9_000) + "END"),
        world.tool("tail", "read", (_args, { files }) => {
          const [stored] = files.list(".results/");
          return new TextDecoder().decode(
            files.read(stored?.path ?? "", { offset: 9_000 }) ?? new Uint8Array(),
          );
        }),
      ],
    });
    thread.send("go");
    await thread.finish();
    expect(thread.of("tool.finished")[1]?.payload?.result.output).toBe("END");
  });
});

describe("failures", () => {
  test("[T5] a tool that throws gives an error result without its stack, and the run goes on", async () => {
    const { thread, model } = await callOnce(() => {
      throw new Error("disk on fire");
    });
    expect(resultOf(thread)).toMatchObject({
      status: "error",
      code: "tool_failed",
      output: "disk on fire",
    });
    expect(JSON.stringify(thread.events())).not.toContain("world.ts");
    expect(model.requests).toHaveLength(2);
  });

  test("[T5] an AppError keeps its code", async () => {
    const { thread } = await callOnce(() => {
      throw new AppError("file_path_invalid", "no such place");
    });
    expect(resultOf(thread)).toMatchObject({ status: "error", code: "file_path_invalid" });
  });

  test("[T5] a tool that does not answer is given up at its timeout, its signal aborted with the reason", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["slow"]), say("done")]);
    let reason: unknown = null;
    const slow = world.tool("slow", "read", async (_args, context) => {
      context.signal.addEventListener("abort", () => (reason = context.signal.reason));
      return new Promise(() => undefined);
    });
    const thread = new ThreadHarness({ model, tools: [slow] });
    thread.send("go");
    const driving = thread.finish();
    await expect.poll(() => world.executions.length).toBe(1);
    thread.timers.advance(999);
    expect(reason).toBeNull();
    thread.timers.advance(1);
    await driving;
    expect(resultOf(thread)).toMatchObject({ status: "error", code: "tool_timeout" });
    expect(reason).toMatchObject({ name: "TimeoutError" });
    expect(thread.run("run_1").status).toBe("completed");
  });

  test("[T6] what a tool staged commits with its outcome, and is dropped when it fails", async () => {
    const staged = await callOnce((_args, { files, setPlan }) => {
      files.write("a.txt", bytes("kept"));
      setPlan([{ text: "one", status: "done" }]);
      return "ok";
    });
    expect(staged.thread.file("a.txt")).toBe("kept");
    expect(staged.thread.runtime.state.plan).toEqual([{ text: "one", status: "done" }]);
    const outcome = staged.thread.of("tool.finished")[0];
    expect(staged.thread.of("file.written")[0]?.header).toMatchObject({
      seq: (outcome?.header.seq ?? 0) + 2,
      call: outcome?.header.call,
    });
    const dropped = await callOnce((_args, { files, setPlan }) => {
      files.write("a.txt", bytes("lost"));
      setPlan([{ text: "one", status: "done" }]);
      throw new Error("after writing");
    });
    expect(dropped.thread.file("a.txt")).toBeNull();
    expect(dropped.thread.runtime.state.plan).toEqual([]);
  });

  test("[T6] a crash between dispatch and outcome leaves no file, and the repeated attempt writes it once", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["work"]), say("done")]);
    const work = world.tool("work", "idempotent", (_args, { files }) => {
      files.write("a.txt", bytes("written"));
      return "ok";
    });
    // 4 crossings of the model call, then before_intent, after_intent, after_dispatch of the tool.
    const thread = new ThreadHarness({ model, tools: [work], boundary: new CrashBoundary(7) });
    thread.send("go");
    await expect(thread.finish()).rejects.toThrow("after_dispatch");
    expect(thread.file("a.txt")).toBeNull();
    thread.boundary = new CrashBoundary();
    thread.reopen();
    await thread.finish();
    expect(thread.file("a.txt")).toBe("written");
    expect(thread.of("file.written")).toHaveLength(1);
    expect(world.timesPerCall("work")).toEqual([2]);
  });

  test("[T8] [T6] two calls of a round that only fit alone: one commits, the other fails with the reason, and the run goes on", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["fill"], ["fill"]), say("done")]);
    let name = 0;
    const fill = world.tool("fill", "once", async (_args, { files }) => {
      name += 1;
      for (let index = 0; index < 1_200; index += 1) files.write(`f${name}/${index}`, bytes("x"));
      await Promise.resolve();
      return "filled";
    });
    const thread = new ThreadHarness({ model, tools: [fill] });
    thread.send("go");
    await thread.finish();
    expect(
      thread
        .of("tool.finished")
        .map(({ payload }) => [payload?.result.status, payload?.result.code]),
    ).toEqual([
      ["ok", null],
      ["error", "workspace_full"],
    ]);
    expect(thread.workspace.reader.list()).toHaveLength(1_200);
    expect(thread.run("run_1").status).toBe("completed");
  });
});

describe("pins", () => {
  async function resumeWith(
    change: (tool: Tool) => Tool | null,
  ): Promise<{ thread: ThreadHarness; world: World; model: ScriptModel }> {
    const world = new World();
    const model = new ScriptModel([ask(["work"]), say("did without")]);
    const work = world.tool("work", "read");
    // Dies after the answer is recorded, before the call's intent.
    const thread = new ThreadHarness({ model, tools: [work], boundary: new CrashBoundary(5) });
    thread.send("go");
    await expect(thread.finish()).rejects.toThrow("before_intent");
    thread.boundary = new CrashBoundary();
    const changed = change(work);
    thread.tools = new Map(changed === null ? [] : [["work", changed]]);
    thread.reopen();
    await thread.finish();
    return { thread, world, model };
  }

  test.each([
    ["gone", () => null],
    ["of another version", (tool: Tool): Tool => ({ ...tool, version: "2" })],
    ["of another effect", (tool: Tool): Tool => ({ ...tool, effect: "once" })],
    [
      "of another schema",
      (tool: Tool): Tool => ({ ...tool, inputSchema: { type: "object", required: ["x"] } }),
    ],
  ])("[T9] a tool that is %s gives tool_unavailable and is never run", async (_name, change) => {
    const { thread, world } = await resumeWith(change);
    expect(world.executions).toEqual([]);
    expect(thread.of("tool.refused").map(({ payload }) => payload?.refusal.code)).toEqual([
      "tool_unavailable",
    ]);
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "did without" });
  });

  test("[T9] key order of a schema and a new description are not another contract", async () => {
    const { world } = await resumeWith((tool) => ({
      ...tool,
      description: "reworded",
      inputSchema: JSON.parse(JSON.stringify(tool.inputSchema)) as Tool["inputSchema"],
    }));
    expect(world.executions).toHaveLength(1);
  });

  test("[T9] [T3] a changed tool refuses as unavailable, not as invalid arguments of its new schema", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["work"]), say("did without")]);
    const work = world.tool("work", "read");
    const thread = new ThreadHarness({ model, tools: [work] });
    thread.tools = new Map([
      [
        "work",
        {
          ...work,
          version: "2",
          parse: () => ({ ok: false, error: [{ path: "/x", message: "required" }] }),
        },
      ],
    ]);
    thread.send("go");
    await thread.finish();
    expect(thread.of("tool.refused").map(({ payload }) => payload?.refusal.code)).toEqual([
      "tool_unavailable",
    ]);
  });
});

describe("recovery", () => {
  async function crashAt(
    point: "after_intent" | "after_dispatch",
    tool: (world: World) => Tool,
  ): Promise<{ thread: ThreadHarness; world: World }> {
    const world = new World();
    const model = new ScriptModel([ask(["work"]), say("done")]);
    const thread = new ThreadHarness({
      model,
      tools: [tool(world)],
      boundary: new CrashBoundary(point === "after_intent" ? 6 : 7),
    });
    thread.send("go");
    await expect(thread.finish()).rejects.toThrow(point);
    thread.boundary = new CrashBoundary();
    thread.reopen();
    await thread.finish();
    expect(thread.run("run_1").status).toBe("completed");
    return { thread, world };
  }

  test("[G6] a read tool runs again", async () => {
    const { world } = await crashAt("after_dispatch", (w) => w.tool("work", "read"));
    expect(world.executions.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test("[G7] an idempotent tool runs again with the same key", async () => {
    const { world } = await crashAt("after_dispatch", (w) => w.tool("work", "idempotent"));
    expect(world.timesPerCall("work")).toEqual([2]);
  });

  test("[G8] a reconcile tool is asked first: what happened is taken over, what did not is run", async () => {
    const happened = await crashAt("after_dispatch", (w) =>
      w.tool("work", "reconcile", () => "receipt 7"),
    );
    expect(happened.world.executions).toHaveLength(1);
    expect(happened.world.checks).toHaveLength(1);
    expect(resultOf(happened.thread)).toMatchObject({ status: "ok", output: "receipt 7" });
    const missed = await crashAt("after_intent", (w) =>
      w.tool("work", "reconcile", () => "receipt 7"),
    );
    expect(missed.world.executions).toHaveLength(1);
    expect(missed.world.checks).toEqual(missed.world.executions.map(({ key }) => key));
    expect(resultOf(missed.thread)).toMatchObject({ status: "ok", output: "receipt 7" });
  });

  test("[G8] a check that cannot tell reports unknown, and nothing is run", async () => {
    const { thread, world } = await crashAt("after_dispatch", (w) => ({
      ...w.tool("work", "reconcile"),
      check: async () => Promise.reject(new Error("register is down")),
    }));
    expect(world.executions).toHaveLength(1);
    expect(resultOf(thread)).toMatchObject({ status: "unknown", code: "outcome_unknown" });
  });

  test("[G9] a once tool never runs again, even when it had not been dispatched", async () => {
    const dispatched = await crashAt("after_dispatch", (w) => w.tool("work", "once"));
    expect(dispatched.world.executions).toHaveLength(1);
    const intended = await crashAt("after_intent", (w) => w.tool("work", "once"));
    expect(intended.world.executions).toHaveLength(0);
    expect(resultOf(intended.thread)).toMatchObject({ status: "unknown", code: "outcome_unknown" });
  });

  test("[K7] finished siblings of an interrupted call keep their recorded results", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["fast"], ["stall"], ["fast"]), say("done")]);
    const stall = world.tool("stall", "read", (args, context) =>
      context.attempt === 1 ? hangUntilAborted(args, context) : "late",
    );
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("fast", "once", () => `r${world.executions.length}`), stall],
    });
    thread.send("go");
    void thread.runtime.drive();
    await expect.poll(() => thread.of("tool.finished").length).toBe(2);
    thread.runtime.abort("killed");
    thread.reopen();
    await thread.finish();
    expect(world.timesPerCall("fast")).toEqual([1, 1]);
    const results = model.requests[1]?.messages.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === "result" ? [part.output] : [])),
    );
    expect(results).toEqual(["r1", "late", "r3"]);
  });
});
