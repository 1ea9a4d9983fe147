import { describe, expect, test } from "vitest";
import type { AgentManifest } from "#kernel/manifest.ts";
import { nextEffects } from "#kernel/next-effects.ts";
import { type AnswerSpec, KernelDriver } from "#test/support/kernel-driver.ts";
import { MANIFEST, toolPin } from "#test/support/kernel-fixture.ts";
import { windowTokens } from "#kernel/window.ts";

function started(manifest: Partial<AgentManifest> = {}, output = false): KernelDriver {
  const driver = new KernelDriver(manifest).create();
  driver.send("go", { output: output ? { name: "o", schema: { type: "object" } } : null });
  driver.pumpAll();
  return driver;
}
function answer(driver: KernelDriver, spec: AnswerSpec): void {
  driver.answer(spec);
  driver.pumpAll();
}
const limits = (change: Partial<AgentManifest["limits"]>): Partial<AgentManifest> => ({
  limits: { ...MANIFEST.limits, ...change },
});
const count = (driver: KernelDriver, type: string): number =>
  driver.types().filter((item) => item === type).length;
const finishOf = (driver: KernelDriver): string | undefined =>
  driver.last("run.completed").payload?.finish;
const UNKNOWN = { name: "nope", refusal: { code: "unknown_tool", message: "no" } } as const;
const TRUNCATED = {
  name: "put",
  refusal: { code: "tool_args_truncated", message: "cut" },
} as const;

describe("how a run ends", () => {
  test("[K4] with finish stop, once", () => {
    const driver = started();
    answer(driver, { text: "done" });
    expect(finishOf(driver)).toBe("stop");
    expect(count(driver, "run.completed")).toBe(1);
    expect(driver.effects()).toEqual([]);
  });

  test("[K5] at the step cap, after the calls of the last answer ran", () => {
    const driver = started(limits({ maxSteps: 2 }));
    answer(driver, { calls: [{ name: "look" }] });
    driver.finishTool();
    driver.pumpAll();
    answer(driver, { calls: [{ name: "look" }] });
    expect(count(driver, "tool.started")).toBe(2);
    driver.finishTool();
    driver.pumpAll();
    expect(finishOf(driver)).toBe("step_cap");
    expect(count(driver, "model.answered")).toBe(2);
  });

  test("[K23] an empty answer is asked for once more, then the run ends as empty_output", () => {
    const driver = started();
    answer(driver, { reasoning: "hm" });
    expect(count(driver, "model.requested")).toBe(2);
    answer(driver, { text: " \n" });
    expect(count(driver, "model.requested")).toBe(2);
    expect(finishOf(driver)).toBe("empty_output");
  });

  test("[K23] a filtered answer is never retried", () => {
    const driver = started();
    answer(driver, { finish: "content_filter" });
    expect(finishOf(driver)).toBe("content_filter");
    expect(count(driver, "model.requested")).toBe(1);
  });

  test("[K20] a cut call is refused, retried once, and then ends the run with finish length", () => {
    const driver = started();
    answer(driver, { calls: [{ name: "look" }, TRUNCATED], finish: "length" });
    expect(count(driver, "tool.started")).toBe(1);
    driver.finishTool();
    driver.pumpAll();
    expect(count(driver, "model.requested")).toBe(2);
    answer(driver, { calls: [TRUNCATED], finish: "tool_calls" });
    expect(finishOf(driver)).toBe("length");
    expect(count(driver, "tool.refused")).toBe(2);
    expect(count(driver, "model.requested")).toBe(2);
  });

  test("[K20] text cut by the output limit ends the run with finish length", () => {
    const driver = started();
    answer(driver, { text: "half a", finish: "length" });
    expect(finishOf(driver)).toBe("length");
  });

  test("[K21] three steps of nothing but unknown tools end the run as loop_guard; a known one between starts over", () => {
    const driver = started();
    answer(driver, { calls: [UNKNOWN] });
    answer(driver, { calls: [UNKNOWN, { name: "look" }] });
    driver.finishTool();
    driver.pumpAll();
    answer(driver, { calls: [UNKNOWN] });
    answer(driver, { calls: [UNKNOWN] });
    expect(count(driver, "run.completed")).toBe(0);
    answer(driver, { calls: [UNKNOWN] });
    expect(finishOf(driver)).toBe("loop_guard");
  });

  test("[K17] an answer off its schema is asked for again with what is wrong, then the run fails as output_invalid", () => {
    const driver = started({ maxRepairs: 1 }, true);
    const off = { ok: false, issues: ["/total: expected a number"] } as const;
    answer(driver, { text: "{}", output: off });
    expect(driver.last("context.added").payload?.kind).toBe("repair");
    expect(JSON.stringify(driver.prompts.at(-1)?.messages.at(-1))).toContain(
      "/total: expected a number",
    );
    answer(driver, { text: "{}", output: off });
    expect(driver.last("run.failed").payload?.reason).toBe("output_invalid");
    expect(count(driver, "model.requested")).toBe(2);
  });

  test("[K17] a repaired answer completes the run", () => {
    const driver = started({}, true);
    answer(driver, { text: "{}", output: { ok: false, issues: ["/: no"] } });
    answer(driver, { text: "{}", output: { ok: true, value: {} } });
    expect(finishOf(driver)).toBe("stop");
  });
});

describe("retries of a model step", () => {
  test("[K6] wait for the recorded time and keep the step", () => {
    const driver = started();
    driver.failModel("overloaded", driver.now + 500);
    expect(driver.effects()).toEqual([{ type: "wait_until", at: driver.now + 500 }]);
    driver.pumpAll();
    expect(driver.last("model.requested").header).toMatchObject({ step: 1, attempt: 2 });
    expect(driver.state.run?.failures).toBe(1);
  });

  test.each([
    ["invalid_request", "model_rejected"],
    ["unauthorized", "model_rejected"],
    ["overloaded", "model_unavailable"],
    ["stream_error", "model_failed"],
  ] as const)("[K6] %s without a next attempt fails the run as %s", (code, reason) => {
    const driver = started();
    driver.failModel(code, null);
    driver.pumpAll();
    expect(driver.last("run.failed").payload?.reason).toBe(reason);
    expect(count(driver, "model.requested")).toBe(1);
  });
});

describe("fallbacks", () => {
  const routes = (driver: KernelDriver) =>
    driver.events.flatMap((event) =>
      event.type === "model.requested" ? [event.payload?.route] : [],
    );

  test.each([
    "unavailable",
    "rate_limited",
    "unauthorized",
    "timeout",
    "stream_incomplete",
  ] as const)(
    "[K26] after %s for good the next route is asked, with retries of its own, and the run stays on it",
    (code) => {
      const driver = started({ fallbacks: ["b/one", "c/two"] });
      driver.failModel(code, driver.now + 10);
      driver.pumpAll();
      driver.failModel(code, null);
      driver.pumpAll();
      expect(driver.state.run).toMatchObject({ fallback: 1, failures: 0, attempts: 2 });
      answer(driver, { calls: [{ name: "look" }] });
      driver.finishTool();
      driver.pumpAll();
      const own = driver.manifest.route;
      expect(routes(driver)).toEqual([own, own, "b/one", "b/one"]);
      answer(driver, { text: "done" });
      expect(finishOf(driver)).toBe("stop");
      driver.send("again");
      driver.pumpAll();
      expect(routes(driver).at(-1)).toBe(own);
    },
  );

  test("[K26] the run fails with the last route's reason once all have failed", () => {
    const driver = started({ fallbacks: ["b/one"] });
    driver.failModel("overloaded", null);
    driver.pumpAll();
    driver.failModel("timeout", null);
    driver.pumpAll();
    expect(driver.last("run.failed").payload?.reason).toBe("model_failed");
    expect(count(driver, "model.requested")).toBe(2);
  });

  test.each(["invalid_request", "aborted"] as const)(
    "[K26] %s is not sent to another route",
    (code) => {
      const driver = started({ fallbacks: ["b/one"] });
      driver.failModel(code, null);
      driver.pumpAll();
      expect(driver.last("run.failed")).toBeDefined();
      expect(count(driver, "model.requested")).toBe(1);
    },
  );
});

describe("a prompt that is too long for the provider", () => {
  test("[K27] is trimmed to half of what was sent and sent once more, then the run fails as context_overflow", () => {
    const driver = new KernelDriver({ contextTokens: 1_000_000 }).create();
    for (let i = 0; i < 6; i += 1) {
      driver.send(`question ${i}: ${"word ".repeat(200)}`);
      driver.pumpAll();
      answer(driver, { text: `answer ${i}: ${"word ".repeat(200)}` });
    }
    driver.send("and now?");
    driver.pumpAll();
    const sent = () => windowTokens(driver.state.window);
    const before = sent();
    driver.failModel("context_overflow", null);
    driver.pumpAll();
    expect(sent()).toBeLessThanOrEqual(before / 2);
    expect(JSON.stringify(driver.prompts.at(-1)?.messages.at(-1))).toContain("and now?");
    driver.failModel("context_overflow", null);
    driver.pumpAll();
    expect(driver.last("run.failed").payload?.reason).toBe("context_overflow");
    expect(count(driver, "model.requested")).toBe(8);
  });
});

describe("a call written as text", () => {
  test("[K25] is answered with one reminder, is not executed, and is then accepted as text", () => {
    const driver = started();
    answer(driver, { text: '<tool_call>{"name":"pay"}</tool_call>', textCall: "pay" });
    expect(driver.last("context.added").payload).toMatchObject({ kind: "reminder" });
    expect(JSON.stringify(driver.prompts.at(-1)?.messages.at(-1))).toContain("pay written as text");
    answer(driver, { text: '<tool_call>{"name":"pay"}</tool_call>', textCall: "pay" });
    expect(finishOf(driver)).toBe("stop");
    expect(count(driver, "model.requested")).toBe(2);
    expect(count(driver, "tool.started")).toBe(0);
  });
});

describe("caps", () => {
  test("[G11] a call that could pass the token cap is not made", () => {
    const driver = started(limits({ maxTokens: 400 }));
    answer(driver, { calls: [{ name: "look" }], tokens: 250 });
    driver.finishTool();
    driver.pumpAll();
    expect(driver.last("run.failed").payload?.reason).toBe("token_cap");
    expect(count(driver, "model.requested")).toBe(1);
  });

  test("[G11] a call that could pass the cost cap is not made, its reservation counted", () => {
    const driver = new KernelDriver(limits({ maxCostMicros: 1_000 })).create();
    driver.send("go");
    const price = { inputMicrosPerMillion: 0, outputMicrosPerMillion: 4_990_000 };
    const ask = (output: number) =>
      nextEffects(driver.state, {
        now: 1,
        epoch: 1,
        price: { ...price, outputMicrosPerMillion: output },
      });
    expect(ask(4_990_000)).toMatchObject([
      { type: "call_model", reservation: { costMicros: 998 } },
    ]);
    expect(ask(5_010_000)).toMatchObject([
      { type: "record", drafts: [{ type: "run.failed", payload: { reason: "cost_cap" } }] },
    ]);
  });

  test("[G11] calls per tool are counted over the run, and one too many is refused", () => {
    const driver = started({ tools: [toolPin("look", "read", 2)] });
    answer(driver, { calls: [{ name: "look" }] });
    driver.finishTool();
    driver.pumpAll();
    answer(driver, { calls: [{ name: "look" }, { name: "look" }] });
    expect(count(driver, "tool.started")).toBe(2);
    expect(driver.last("tool.refused").payload?.refusal.code).toBe("tool_call_limit");
    driver.finishTool();
    driver.pumpAll();
    expect(driver.prompts.at(-1)?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "tool",
    ]);
  });
});
