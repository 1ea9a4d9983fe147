import { describe, expect, test } from "vitest";
import { DEFAULT_HOOKS, NO_GUARDRAIL } from "#runner/default-hooks.ts";
import type { ThreadDraft } from "#kernel/events.ts";
import type { EffectView, GateHooks } from "#runner/gate-hooks.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

function recordingHooks(trail: string[]): GateHooks {
  const note = <T>(name: string, view: EffectView, answer: T): T => {
    trail.push(`${name} ${view.kind}`);
    return answer;
  };
  return {
    policy: { check: (view) => note("policy", view, { allow: true, verdict: "rule-7" }) },
    guardrail: {
      holdsLiveText: false,
      input: (view) => note("guardrail", view, { allow: true, verdict: "clean" }),
      toolOutput: (view, text) => note("output", view, text),
      modelText: (view, text) => note("output", view, text),
    },
    loopGuard: { check: (view) => note("loop-guard", view, { allow: true, verdict: "fresh" }) },
    budget: {
      reserve: (view) => note("reserve", view, { allow: true, reservation: view.reservation }),
      settle: (view) => note("settle", view, undefined),
    },
  };
}

describe("order", () => {
  test("[G13] drafts of hooks stand right before the intent, in hook order and in its append; those of a refused effect are dropped", async () => {
    const noted = (text: string): readonly ThreadDraft[] => [
      {
        type: "context.added",
        payload: { kind: "reminder", text },
        scope: { run: "run_1", step: 0, definition: thread.definition },
      },
    ];
    let refuses = false;
    const thread = new ThreadHarness({
      model: new ScriptModel([say("done")]),
      hooks: {
        policy: { check: () => ({ allow: true, verdict: "v", drafts: noted("policy") }) },
        loopGuard: { check: () => ({ allow: true, verdict: "v", drafts: noted("guard") }) },
        budget: {
          reserve: (view) =>
            refuses
              ? { allow: false, cap: "cost_cap", message: "no" }
              : { allow: true, reservation: view.reservation, drafts: noted("budget") },
          settle: () => undefined,
        },
      },
    });
    const appended: string[][] = [];
    const { log } = thread;
    const append = log.append.bind(log);
    log.append = (drafts, options) => {
      appended.push(drafts.map((draft) => draft.type));
      return append(drafts, options);
    };
    thread.send("go");
    await thread.finish();
    expect(thread.of("context.added").map((event) => event.payload?.text)).toEqual([
      "policy",
      "guard",
      "budget",
    ]);
    expect(appended).toContainEqual([
      "context.added",
      "context.added",
      "context.added",
      "model.requested",
    ]);
    expect(thread.chainFault()).toBeNull();
    refuses = true;
    thread.send("again");
    await thread.finish();
    expect(thread.of("context.added")).toHaveLength(3);
    expect(thread.run("run_2").reason).toBe("cost_cap");
  });

  test("[G1] every effect crosses policy, guardrail, loop guard, budget, intent, dispatch, output guardrail, outcome, settlement", async () => {
    const trail: string[] = [];
    const world = new World();
    const model = new ScriptModel([ask(["look"]), say("done")]);
    const tool = world.tool("look", "read", () => {
      trail.push("dispatch tool");
      return "seen";
    });
    const thread = new ThreadHarness({
      model,
      tools: [tool],
      hooks: recordingHooks(trail),
      boundary: {
        cross: (point) => {
          trail.push(point);
        },
      },
    });
    thread.send("go");
    await thread.finish();
    const start = (kind: string): string[] => [
      "before_intent",
      `policy ${kind}`,
      `guardrail ${kind}`,
      `loop-guard ${kind}`,
      `reserve ${kind}`,
      "after_intent",
    ];
    expect(trail).toEqual([
      ...start("model"),
      "after_dispatch",
      "settle model",
      "after_outcome",
      ...start("tool"),
      "dispatch tool",
      "after_dispatch",
      "output tool",
      "settle tool",
      "after_outcome",
      ...start("model"),
      "after_dispatch",
      "output model",
      "settle model",
      "after_outcome",
    ]);
  });

  test("[G2] the intent is durable, with the key the tool gets, before the tool runs", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["look"]), say("done")]);
    const thread = new ThreadHarness({
      model,
      tools: [
        world.tool("look", "read", (_args, { idempotencyKey }) => {
          expect(thread.of("tool.started").map(({ payload }) => payload?.idempotencyKey)).toEqual([
            idempotencyKey,
          ]);
          return "seen";
        }),
      ],
    });
    thread.send("go");
    await thread.finish();
    expect(world.executions).toHaveLength(1);
    expect(model.keys).toEqual(thread.of("model.requested").map(({ header }) => header.id));
  });

  test("[G3] the intent records verdicts and reservation, the outcome the settlement", async () => {
    const thread = new ThreadHarness({
      model: new ScriptModel([say("hi")]),
      hooks: recordingHooks([]),
      prices: {
        price: () => ({
          version: "p1",
          inputMicrosPerMillion: 1_000_000,
          cachedInputMicrosPerMillion: 500_000,
          outputMicrosPerMillion: 2_000_000,
        }),
      },
    });
    thread.send("go");
    await thread.finish();
    const [intent] = thread.of("model.requested");
    expect(intent?.payload?.verdicts).toEqual({
      policy: "rule-7",
      guardrail: "clean",
      loopGuard: "fresh",
    });
    expect(intent?.payload?.reservation.tokens).toBeGreaterThan(1_000);
    const [outcome] = thread.of("model.answered");
    expect(outcome?.payload?.settlement).toEqual({
      costMicros: 20,
      tokens: 15,
      estimated: false,
      usage: { input: 10, output: 5 },
      route: "test/script",
    });
    expect(outcome?.header).toMatchObject({
      costMicros: 20,
      costKind: "normal",
      priceVersion: "p1",
      cause: intent?.header.id,
    });
  });
});

describe("refusals", () => {
  const refusing = (
    part: Partial<GateHooks>,
  ): { thread: ThreadHarness; world: World; model: ScriptModel } => {
    const world = new World();
    const model = new ScriptModel([ask(["pay"]), say("understood")]);
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("pay", "once")],
      hooks: { ...DEFAULT_HOOKS, ...part },
    });
    return { thread, world, model };
  };
  const denyTools = { code: "denied_by_policy", message: "no payments on Sundays" } as const;

  test("[G4] a policy's refusal is an event that the model sees, and nothing is dispatched", async () => {
    const { thread, world, model } = refusing({
      policy: {
        check: (view) =>
          view.kind === "tool"
            ? { allow: false, refusal: denyTools }
            : { allow: true, verdict: "allow" },
      },
    });
    thread.send("pay");
    await thread.finish();
    expect(world.executions).toEqual([]);
    expect(thread.types()).not.toContain("tool.started");
    expect(thread.of("tool.refused").map(({ payload }) => payload?.refusal)).toEqual([denyTools]);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("no payments on Sundays");
    expect(thread.run("run_1")).toMatchObject({ status: "completed", text: "understood" });
  });

  test("[G4] a hook that throws refuses: an effect that could not be judged was not allowed", async () => {
    const { thread, world } = refusing({
      loopGuard: {
        check: (view) => {
          if (view.kind === "tool") throw new Error("guard is down");
          return { allow: true, verdict: "none" };
        },
      },
    });
    thread.send("pay");
    await thread.finish();
    expect(world.executions).toEqual([]);
    expect(thread.of("tool.refused")).toHaveLength(1);
    expect(JSON.stringify(thread.events())).not.toContain("guard is down");
  });

  test("[G4] a refused model call ends the run with the reason, and no request leaves", async () => {
    const { thread, model } = refusing({
      budget: {
        reserve: () => ({ allow: false, cap: "cost_cap", message: "the tenant has no money left" }),
        settle: () => undefined,
      },
    });
    thread.send("pay");
    await thread.finish();
    expect(model.requests).toEqual([]);
    expect(thread.run("run_1")).toMatchObject({ status: "failed", reason: "cost_cap" });
    expect(thread.run("run_1").message).toContain("no money left");
  });

  test("[T10] a tool that needs approval is never run without one", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["refund"]), say("asked")]);
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("refund", "once", undefined, { approval: "always" })],
    });
    thread.send("refund");
    await thread.runtime.drive();
    expect(thread.of("approval.requested")).toHaveLength(1);
    await thread.finish();
    expect(world.executions).toEqual([]);
    expect(thread.of("tool.refused").map(({ payload }) => payload?.refusal.code)).toEqual([
      "approval_expired",
    ]);
  });

  test("[T10] nor by a policy that allows it", async () => {
    const world = new World();
    const thread = new ThreadHarness({
      model: new ScriptModel([ask(["refund"]), say("asked")]),
      tools: [world.tool("refund", "once", undefined, { approval: "always" })],
      hooks: { policy: { check: () => ({ allow: true, verdict: "anything goes" }) } },
    });
    thread.send("refund");
    await thread.runtime.drive();
    expect(world.executions).toEqual([]);
    expect(thread.openApprovals()).toHaveLength(1);
  });

  test("[T10] an effect that nobody can be asked about is refused when the policy asks", async () => {
    const model = new ScriptModel([say("never sent")]);
    const thread = new ThreadHarness({
      model,
      hooks: { policy: { check: () => ({ allow: "ask", message: "models need a person here" }) } },
    });
    thread.send("hello");
    await thread.finish();
    expect(model.requests).toEqual([]);
    expect(thread.types()).not.toContain("approval.requested");
    expect(thread.run("run_1").status).toBe("failed");
  });
});

describe("guardrails", () => {
  test("[T2] arguments a guardrail replaced are what intent and tool see", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["mail", { to: "a@example.com" }]), say("sent")]);
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("mail", "once")],
      hooks: {
        guardrail: {
          ...NO_GUARDRAIL,
          input: (view) =>
            view.kind === "tool"
              ? { allow: true, verdict: "redacted", args: { to: "[mail]" } }
              : { allow: true, verdict: "none" },
        },
      },
    });
    thread.send("mail");
    await thread.finish();
    expect(world.executions.map(({ args }) => args)).toEqual([{ to: "[mail]" }]);
    expect(thread.of("tool.started").map(({ payload }) => payload?.args)).toEqual([
      { to: "[mail]" },
    ]);
  });

  test("[G1] what the output guardrail returns is what is stored and shown; its failure withholds", async () => {
    const world = new World();
    const model = new ScriptModel([ask(["look"]), ask(["look"]), say("the key is s3cret")]);
    let asked = 0;
    const thread = new ThreadHarness({
      model,
      tools: [world.tool("look", "read", () => "token=s3cret")],
      hooks: {
        guardrail: {
          ...NO_GUARDRAIL,
          toolOutput: (_view, text) => {
            asked += 1;
            if (asked === 2) throw new Error("scanner down");
            return text.replace("s3cret", "***");
          },
          modelText: (_view, text) => text.replace("s3cret", "***"),
        },
      },
    });
    thread.send("look");
    await thread.finish();
    expect(
      thread
        .of("tool.finished")
        .map(({ payload }) => [payload?.result.status, payload?.result.output]),
    ).toEqual([
      ["ok", "token=***"],
      ["error", "The result was withheld: it could not be screened."],
    ]);
    expect(thread.run("run_1").text).toBe("the key is ***");
    expect(JSON.stringify(thread.events())).not.toContain("s3cret");
  });
});
