import { describe, expect, test } from "vitest";
import { KernelDriver } from "#test/support/kernel-driver.ts";
import { MANIFEST } from "#test/support/kernel-fixture.ts";

function inCall(...names: string[]): KernelDriver {
  const driver = new KernelDriver().create();
  driver.send("go");
  driver.pumpAll();
  driver.answer({ calls: names.map((name) => ({ name })) });
  driver.pumpAll();
  return driver;
}
const count = (driver: KernelDriver, type: string): number =>
  driver.types().filter((item) => item === type).length;
const starts = (driver: KernelDriver) =>
  driver.events.flatMap((event) => (event.type === "tool.started" ? [event] : []));

describe("a tool call whose process died", () => {
  test("[G6] runs again when it only reads", () => {
    const driver = inCall("look");
    driver.crash();
    driver.pumpAll();
    expect(starts(driver).map(({ header, payload }) => [header.attempt, payload?.mode])).toEqual([
      [1, "execute"],
      [2, "execute"],
    ]);
  });

  test("[G7] runs again with the same key when it is idempotent", () => {
    const driver = inCall("put");
    driver.crash();
    driver.pumpAll();
    const [first, second] = starts(driver);
    expect(second?.payload?.idempotencyKey).toBe(first?.payload?.idempotencyKey);
    expect(driver.flights[0]?.effect).toMatchObject({ attempt: 2, recovery: true });
  });

  test("[G8] is asked whether it happened when it reconciles, and runs only when it did not", () => {
    const driver = inCall("book");
    driver.crash();
    driver.pumpAll();
    expect(starts(driver).at(-1)?.payload?.mode).toBe("check");
    const flight = driver.flights.pop();
    driver.append([
      {
        type: "tool.interrupted",
        payload: { next: "rerun" },
        scope: {
          run: driver.state.run?.runId ?? null,
          step: 1,
          call: starts(driver)[0]?.header.call ?? null,
          attempt: 2,
          cause: flight?.intentId ?? null,
        },
      },
    ]);
    expect(driver.state.run?.recoveries).toBe(1);
    driver.pumpAll();
    expect(starts(driver).map(({ payload }) => payload?.mode)).toEqual([
      "execute",
      "check",
      "execute",
    ]);
    expect(new Set(starts(driver).map(({ payload }) => payload?.idempotencyKey)).size).toBe(1);
  });

  test("[G9] is never run again when it may happen once: its one outcome is unknown, and the model is told", () => {
    const driver = inCall("pay");
    driver.crash();
    driver.pumpAll();
    expect(starts(driver)).toHaveLength(1);
    expect(count(driver, "tool.interrupted")).toBe(0);
    expect(driver.last("tool.finished").header.cause).toBe(starts(driver)[0]?.header.id);
    expect(driver.last("tool.finished").payload?.result).toMatchObject({
      status: "unknown",
      code: "outcome_unknown",
    });
    expect(driver.prompts.at(-1)?.messages.at(-1)).toMatchObject({
      role: "tool",
      content: [{ isError: true }],
    });
  });

  test("[K7] keeps the results of its siblings, in call order", () => {
    const driver = inCall("look", "put", "look");
    const ids = starts(driver).map(({ header }) => header.call ?? "");
    driver.finishTool({ callId: ids[2] ?? "", output: "third" });
    driver.finishTool({ callId: ids[0] ?? "", output: "first" });
    driver.crash();
    driver.pumpAll();
    expect(starts(driver)).toHaveLength(4);
    driver.finishTool({ callId: ids[1] ?? "", output: "second" });
    driver.pumpAll();
    const results = driver.prompts
      .at(-1)
      ?.messages.flatMap((message) => (message.role === "tool" ? message.content : []));
    expect(results?.map(({ output }) => output)).toEqual(["first", "second", "third"]);
    expect(results?.map(({ callId }) => callId)).toEqual(ids);
  });
});

describe("a model call whose process died", () => {
  test("[G12] is closed as interrupted with its reservation as cost, and the next attempt is marked recovery", () => {
    const driver = new KernelDriver().create();
    driver.send("go");
    driver.pumpAll();
    const reserved = driver.last("model.requested").payload?.reservation;
    driver.crash();
    driver.pump();
    const closed = driver.last("model.interrupted");
    expect(closed.payload?.settlement).toEqual({
      ...reserved,
      estimated: true,
      route: MANIFEST.route,
      usage: { input: (reserved?.tokens ?? 0) - 200, output: 200 },
    });
    expect(closed.header).toMatchObject({
      costKind: "estimated",
      cause: driver.last("model.requested").header.id,
    });
    expect(driver.effects()).toMatchObject([
      { type: "call_model", step: 1, attempt: 2, recovery: true },
    ]);
  });

  test("[G5] with a recorded answer is not asked again", () => {
    const driver = inCall("look");
    driver.crash();
    driver.pumpAll();
    expect(count(driver, "model.requested")).toBe(1);
  });

  test("[K15] three times in a row gives the run up", () => {
    const driver = new KernelDriver().create();
    driver.send("go");
    for (let life = 0; life < 3; life += 1) {
      driver.pumpAll();
      driver.crash();
    }
    driver.pumpAll();
    expect(driver.last("run.failed").payload?.reason).toBe("recovery_exhausted");
    expect(count(driver, "model.requested")).toBe(3);
    expect(count(driver, "model.interrupted")).toBe(3);
  });

  test("[K15] is not held against a run that finishes effects in between", () => {
    const driver = new KernelDriver().create();
    driver.send("go");
    for (let life = 0; life < 6; life += 1) {
      driver.pumpAll();
      driver.crash();
      driver.pumpAll();
      driver.answer({ calls: [{ name: "look" }] });
      driver.pumpAll();
      driver.finishTool({ output: `saw ${life}` });
    }
    expect(count(driver, "run.failed")).toBe(0);
  });
});

describe("the bound of recovery", () => {
  test("[K15] does not count a check that found that nothing had happened: nobody died", () => {
    const driver = inCall("book", "look");
    driver.crash();
    driver.pumpAll();
    const look = driver.flights.find(
      ({ effect }) => effect.type === "call_tool" && effect.name === "look",
    );
    driver.finishTool({ callId: look?.effect.type === "call_tool" ? look.effect.callId : "" });
    expect(driver.state.run?.recoveries).toBe(0);
    const { effect, intentId } = driver.flights[0] ?? { effect: null, intentId: "" };
    if (effect?.type !== "call_tool") throw new Error("the check is in flight");
    const { runId: run, step, callId: call, attempt } = effect;
    driver.append([
      {
        type: "tool.interrupted",
        payload: { next: "rerun" },
        scope: { run, step, call, attempt, cause: intentId },
      },
    ]);
    expect(driver.state.run?.recoveries).toBe(0);
    expect(driver.effects()).toMatchObject([{ type: "call_tool", mode: "execute", attempt: 3 }]);
  });

  test("[K15] counts one death once, however many calls died in it", () => {
    const driver = inCall("look", "put", "look", "put");
    driver.crash();
    driver.pumpAll();
    expect(driver.state.run?.recoveries).toBe(1);
    expect(starts(driver)).toHaveLength(8);
  });

  test("[K15] closes each call of a tool that keeps killing the process, then fails the run", () => {
    const driver = inCall("look", "put");
    for (let life = 0; life < 3; life += 1) {
      driver.crash();
      driver.pumpAll();
    }
    expect(driver.types().slice(-3)).toEqual(["tool.finished", "tool.finished", "run.failed"]);
    expect(driver.last("tool.finished").payload?.result.code).toBe("recovery_exhausted");
    expect(driver.last("run.failed").payload?.reason).toBe("recovery_exhausted");
    driver.send("next");
    driver.pumpAll();
    expect(driver.prompts.at(-1)?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
      "user",
    ]);
  });
});
