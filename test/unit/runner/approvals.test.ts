/** Approvals through the whole runtime: what is shown is what runs, once, or not at all. */
import { describe, expect, test } from "vitest";
import { DEFAULT_APPROVAL_MS } from "#kernel/approvals.ts";
import type { Tool } from "#ports/tool.ts";
import { NO_GUARDRAIL } from "#runner/default-hooks.ts";
import type { PolicyHook } from "#runner/gate-hooks.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness, toPin, type HarnessOptions } from "#test/support/thread-harness.ts";
import { findInvalid } from "#test/support/valid-prompt.ts";
import { World } from "#test/support/world.ts";

interface Setup extends Omit<HarnessOptions, "model" | "tools"> {
  readonly script: ConstructorParameters<typeof ScriptModel>[0];
  readonly tools?: (world: World) => readonly Tool[];
}
const guarded = (world: World): Tool =>
  world.tool("wire", "once", undefined, { approval: "always" });

async function waiting({ script, tools = (world) => [guarded(world)], ...more }: Setup) {
  const world = new World();
  const model = new ScriptModel(script);
  const thread = new ThreadHarness({ model, tools: tools(world), ...more });
  thread.send("go");
  const result = await thread.runtime.drive();
  return { world, model, thread, result };
}

const codes = (thread: ThreadHarness): readonly unknown[] =>
  thread.of("tool.refused").map(({ payload }) => payload?.refusal.code);
const only = (thread: ThreadHarness): string => thread.openApprovals()[0] ?? "none";
const WIRE = [ask(["wire", { to: "bob", amount: 40 }]), say("done")];

describe("a call that needs a person", () => {
  test("[A1] waits with exactly what would run, and the run for nothing else", async () => {
    const { world, thread, model, result } = await waiting({ script: WIRE });
    const [request] = thread.of("approval.requested");
    expect(request?.payload).toMatchObject({
      kind: "tool",
      tool: "wire",
      version: "1",
      args: { to: "bob", amount: 40 },
      question: null,
      answerSchema: null,
      expiresAt: thread.clock.now() + DEFAULT_APPROVAL_MS,
      proposal: thread.of("model.answered")[0]?.hash,
    });
    expect(request?.payload?.binding).toMatch(/^[0-9a-f]{64}$/);
    expect(request?.header).toMatchObject({ run: "run_1", step: 1, attempt: null });
    expect(result).toEqual({ next: "wait", at: request?.payload?.expiresAt });
    expect(world.executions).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });

  test("[A2] approved, it crosses the gate once more and runs once, under the approval's id", async () => {
    const { world, thread } = await waiting({ script: WIRE });
    const id = only(thread);
    expect(thread.decide(id, "approve", { comment: "fine" })).toMatchObject({ ok: true });
    await thread.finish();
    expect(world.executions.map(({ args }) => args)).toEqual([{ to: "bob", amount: 40 }]);
    expect(thread.of("tool.started")[0]?.payload?.verdicts).toMatchObject({ approval: id });
    expect(thread.of("approval.decided")[0]).toMatchObject({
      payload: { decision: "approved", comment: "fine" },
      header: { actor: "usr_1", cause: id, call: thread.of("tool.started")[0]?.header.call },
    });
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "done" });
    expect(thread.of("approval.requested")).toHaveLength(1);
    expect(thread.chainFault()).toBeNull();
  });

  test("[A3] a second decision changes nothing", async () => {
    const { world, thread } = await waiting({ script: WIRE });
    const id = only(thread);
    expect(thread.decide(id, "approve").ok).toBe(true);
    expect(thread.decide(id, "deny")).toMatchObject({ error: { reason: "approval_not_open" } });
    await thread.finish();
    expect(thread.decide(id, "approve")).toMatchObject({ error: { reason: "approval_not_open" } });
    expect(world.executions).toHaveLength(1);
    expect(thread.of("approval.decided")).toHaveLength(1);
  });

  test("[A1] denied, it is never run, and the model reads why", async () => {
    const { world, thread, model } = await waiting({ script: WIRE });
    thread.decide(only(thread), "deny", { comment: "wrong account" });
    await thread.finish();
    expect(world.executions).toEqual([]);
    expect(codes(thread)).toEqual(["denied_by_human"]);
    expect(JSON.stringify(model.requests[1])).toContain("They said: wrong account");
    expect(model.requests.map(findInvalid)).toEqual([null, null]);
  });

  test("[A7] expires at its time, by the tool's own limit, and the run goes on", async () => {
    const limits = {
      timeoutMs: 1_000,
      maxResultBytes: 100,
      maxCallsPerRun: 9,
      approvalTimeoutMs: 5_000,
    };
    const { world, thread, result } = await waiting({
      script: WIRE,
      tools: (outside) => [outside.tool("wire", "once", undefined, { approval: "always", limits })],
    });
    const id = only(thread);
    expect(result).toEqual({ next: "wait", at: thread.clock.now() + 5_000 });
    thread.clock.set(thread.clock.now() + 5_000);
    // Its time is over, even where nobody has recorded that yet.
    expect(thread.decide(id, "approve")).toMatchObject({ error: { reason: "approval_overdue" } });
    await thread.finish();
    expect(world.executions).toEqual([]);
    expect(codes(thread)).toEqual(["approval_expired"]);
    expect(thread.of("approval.decided")[0]).toMatchObject({
      payload: { decision: "expired" },
      header: { actor: null },
    });
    expect(thread.run("run_1").status).toBe("completed");
  });

  test("[A6] a cancel closes it", async () => {
    const { world, thread } = await waiting({ script: WIRE });
    const id = only(thread);
    thread.cancel("run_1");
    await thread.finish();
    expect(codes(thread)).toEqual(["run_cancelled"]);
    expect(thread.of("approval.decided")[0]?.payload?.decision).toBe("cancelled");
    expect(thread.decide(id, "approve").ok).toBe(false);
    expect(world.executions).toEqual([]);
    expect(thread.run("run_1").status).toBe("cancelled");
  });
});

describe("binding", () => {
  const redeployed = (world: World, change: Partial<Tool>): ReadonlyMap<string, Tool> =>
    new Map([["wire", { ...guarded(world), ...change }]]);

  test.each([
    ["version", { version: "2" }],
    ["schema", { inputSchema: { type: "object", required: ["iban"] } }],
    ["effect", { effect: "read" as const }],
  ])("[A2] a deploy that changes the %s leaves an approved call unrun", async (_name, change) => {
    const { world, thread } = await waiting({ script: WIRE });
    const id = only(thread);
    thread.tools = redeployed(world, change);
    thread.reopen();
    expect(thread.decide(id, "approve").ok).toBe(true);
    await thread.finish();
    expect(world.executions).toEqual([]);
    expect(codes(thread)).toEqual(["tool_unavailable"]);
  });

  test("[A2] arguments that a guardrail would change after the approval are not what was approved", async () => {
    let account = "bob";
    const { world, thread } = await waiting({
      script: WIRE,
      hooks: {
        guardrail: {
          ...NO_GUARDRAIL,
          input: (view) =>
            view.kind === "tool"
              ? { allow: true, verdict: "rewritten", args: { ...view.args, to: account } }
              : { allow: true, verdict: "none" },
        },
      },
    });
    account = "mallory";
    thread.decide(only(thread), "approve");
    await thread.finish();
    expect(world.executions).toEqual([]);
    expect(codes(thread)).toEqual(["tool_unavailable"]);
  });

  test("[A1] [T2] what is shown is what the guardrail lets through, and that is what runs", async () => {
    const { world, thread } = await waiting({
      script: WIRE,
      hooks: {
        guardrail: {
          ...NO_GUARDRAIL,
          input: (view) =>
            view.kind === "tool"
              ? { allow: true, verdict: "masked", args: { to: "masked" } }
              : { allow: true, verdict: "none" },
        },
      },
    });
    expect(thread.of("approval.requested")[0]?.payload?.args).toEqual({ to: "masked" });
    thread.decide(only(thread), "approve");
    await thread.finish();
    expect(world.executions.map(({ args }) => args)).toEqual([{ to: "masked" }]);
  });

  test("[A2] the policy is asked again with the approval in view, and its denial goes before it", async () => {
    const seen: unknown[] = [];
    const check: PolicyHook["check"] = (view) => {
      if (view.kind === "model") return { allow: true, verdict: "allow" };
      seen.push(view.approval);
      if (view.approval === null) return { allow: "ask", message: "a person, please" };
      const refusal = { code: "denied_by_policy", message: "The budget was frozen." } as const;
      return { allow: false, refusal };
    };
    const { world, thread } = await waiting({
      script: WIRE,
      tools: (outside) => [outside.tool("wire", "once")],
      hooks: { policy: { check } },
    });
    const id = only(thread);
    thread.decide(id, "approve", { comment: "ok" });
    await thread.finish();
    expect(seen).toEqual([null, { approvalId: id, by: "usr_1", comment: "ok", answer: null }]);
    expect(world.executions).toEqual([]);
    expect(codes(thread)).toEqual(["denied_by_policy"]);
  });

  test("[A2] a policy that asks every time asks once", async () => {
    const { world, thread } = await waiting({
      script: WIRE,
      tools: (outside) => [outside.tool("wire", "once")],
      hooks: {
        policy: {
          check: (view) =>
            view.kind === "tool"
              ? { allow: "ask", message: "always" }
              : { allow: true, verdict: "allow" },
        },
      },
    });
    thread.decide(only(thread), "approve");
    await thread.finish();
    expect(world.executions).toHaveLength(1);
    expect(thread.of("approval.requested")).toHaveLength(1);
  });
});

describe("several calls of one step", () => {
  const SCRIPT = [
    ask(["wire", { n: 1 }], ["look"], ["wire", { n: 2 }], ["wire", { n: 3 }]),
    say("done"),
  ];
  const tools = (world: World): readonly Tool[] => [guarded(world), world.tool("look", "read")];

  test("[A5] what needs nobody runs at once; decisions come in any order, across restarts; the model waits for all", async () => {
    const { world, thread, model } = await waiting({ script: SCRIPT, tools });
    expect(world.executions.map(({ tool }) => tool)).toEqual(["look"]);
    const [first = "", second = "", third = ""] = thread.openApprovals();
    thread.decide(third, "approve");
    await thread.runtime.drive();
    expect(world.executions.map(({ args }) => args)).toEqual([{}, { n: 3 }]);
    thread.reopen();
    thread.decide(first, "deny");
    await thread.runtime.drive();
    thread.reopen();
    expect(model.requests).toHaveLength(1);
    thread.decide(second, "approve");
    await thread.runtime.drive();
    expect(world.executions.map(({ args }) => args)).toEqual([{}, { n: 3 }, { n: 2 }]);
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "done" });
    expect(model.requests).toHaveLength(2);
    expect(findInvalid(model.requests[1]!)).toBeNull();
    expect(world.timesPerCall("wire")).toEqual([1, 1]);
  });

  test("[A5] [G11] waiting calls hold their places among the calls that a run may make", async () => {
    const limits = { timeoutMs: 1_000, maxResultBytes: 100, maxCallsPerRun: 2 };
    const { world, thread } = await waiting({
      script: SCRIPT,
      tools: (outside) => [
        outside.tool("wire", "once", undefined, { approval: "always", limits }),
        outside.tool("look", "read"),
      ],
    });
    expect(thread.openApprovals()).toHaveLength(2);
    expect(codes(thread)).toEqual(["tool_call_limit"]);
    for (const id of thread.openApprovals()) thread.decide(id, "approve");
    await thread.finish();
    expect(world.executions.filter(({ tool }) => tool === "wire")).toHaveLength(2);
  });
});

describe("a new message", () => {
  test.each(["queue", "steer"] as const)(
    "[A6] by %s supersedes what waits and is answered next",
    async (delivery) => {
      const { world, thread, model } = await waiting({ script: WIRE });
      const id = only(thread);
      expect(thread.send("never mind", { delivery })).toMatchObject({
        ok: true,
        value: { disposition: "steered", runId: "run_1" },
      });
      await thread.finish();
      expect(world.executions).toEqual([]);
      expect(codes(thread)).toEqual(["approval_superseded"]);
      expect(thread.decide(id, "approve").ok).toBe(false);
      expect(model.requests).toHaveLength(2);
      expect(findInvalid(model.requests[1]!)).toBeNull();
      expect(thread.listRuns()).toHaveLength(1);
    },
  );

  test("[A6] that asks for an output of its own supersedes too, and gets a run of its own", async () => {
    const output = { name: "n", schema: { type: "object" } };
    const { thread } = await waiting({ script: [...WIRE, say("{}")] });
    expect(thread.send("as JSON", { output })).toMatchObject({ value: { disposition: "queued" } });
    await thread.finish();
    expect(codes(thread)).toEqual(["approval_superseded"]);
    expect(thread.listRuns().map(({ status }) => status)).toEqual(["completed", "completed"]);
  });

  test("[A6] with delivery reject is refused, and interrupt cancels the run with what it waits for", async () => {
    const { thread } = await waiting({ script: WIRE });
    expect(thread.send("hello?", { delivery: "reject" })).toMatchObject({
      error: { reason: "run_active" },
    });
    expect(thread.openApprovals()).toHaveLength(1);
    thread.send("stop that", { delivery: "interrupt" });
    await thread.finish();
    expect(thread.of("approval.decided")[0]?.payload?.decision).toBe("cancelled");
    expect(thread.run("run_1").status).toBe("cancelled");
  });

  test("[A6] while another call of the step still runs, it does not supersede", async () => {
    const world = new World();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = world.tool("slow", "read", async () => {
      await held;
      return "slow done";
    });
    const thread = new ThreadHarness({
      model: new ScriptModel([ask(["wire"], ["slow"]), say("done"), say("and again")]),
      tools: [guarded(world), slow],
    });
    thread.send("go");
    const drive = thread.runtime.drive();
    while (thread.openApprovals().length === 0)
      await new Promise((resolve) => setImmediate(resolve));
    expect(thread.send("more")).toMatchObject({ value: { disposition: "queued" } });
    expect(thread.openApprovals()).toHaveLength(1);
    release();
    await drive;
    thread.decide(only(thread), "approve");
    await thread.finish();
    expect(world.timesPerCall("wire")).toEqual([1]);
  });
});

describe("pins", () => {
  test("[A2] the same call under another definition is another binding", async () => {
    const bindings = await Promise.all(
      ["Help.", "Help more."].map(async (instructions) => {
        const { thread } = await waiting({ script: WIRE, manifest: { instructions } });
        return thread.of("approval.requested")[0]?.payload?.binding;
      }),
    );
    expect(new Set(bindings).size).toBe(2);
  });

  test("[A1] the pin says that a tool needs a person, so that a deploy cannot take that away from a run", async () => {
    const world = new World();
    const pinned = guarded(world);
    const thread = new ThreadHarness({
      model: new ScriptModel(WIRE),
      tools: [{ ...pinned, approval: "never" }],
      manifest: { tools: [toPin(pinned)] },
    });
    thread.send("go");
    await thread.runtime.drive();
    expect(world.executions).toEqual([]);
    expect(thread.openApprovals()).toHaveLength(1);
  });
});
