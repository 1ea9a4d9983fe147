/**
 * Stops each scenario at every crossing of the gate, opens the thread again on the same database, finishes it, and
 * compares exact counts with the run that nothing stopped.
 */
import { describe, expect, test } from "vitest";
import { Crash, CrashBoundary } from "#test/support/crash-boundary.ts";
import { findUnrebuilt } from "#test/support/recompile.ts";
import { ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { findInvalid } from "#test/support/valid-prompt.ts";
import { World } from "#test/support/world.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";

interface Played {
  readonly thread: ThreadHarness;
  readonly model: ScriptModel;
  readonly world: World;
  readonly boundary: CrashBoundary;
}

async function play(scenario: Scenario, target: number): Promise<Played> {
  const world = new World();
  const model = new ScriptModel(scenario.script);
  const boundary = new CrashBoundary(target);
  const thread = new ThreadHarness({ model, tools: scenario.tools(world), boundary });
  try {
    await scenario.play(thread);
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
    thread.boundary = new CrashBoundary();
    thread.reopen();
    await scenario.play(thread);
  }
  return { thread, model, world, boundary };
}

function outcomeOf({ thread }: Played): unknown {
  const files = thread.workspace.reader.list().map(({ path }) => [path, thread.file(path)]);
  const runs = thread.listRuns().map(({ runId, status, finish, reason, text, output, steps }) => ({
    runId,
    status,
    finish,
    reason,
    text,
    output,
    steps,
  }));
  return { files, runs, plan: thread.runtime.state.plan };
}

function assertCountsExact({ thread, model, world, boundary }: Played, baseline: Played): void {
  const interrupted = boundary.crashedAt;
  const at = interrupted?.point;
  const lostAnswer =
    at === "after_dispatch" &&
    thread.of("model.requested").some((event) => event.header.id === interrupted?.effectId);
  expect(model.requests.length).toBe(baseline.model.requests.length + (lostAnswer ? 1 : 0));
  for (const tool of thread.tools.values()) {
    const times = world.timesPerCall(tool.name);
    if (tool.effect === "once") expect(times.every((count) => count === 1)).toBe(true);
    if (tool.effect === "reconcile") expect(times).toEqual(baseline.world.timesPerCall(tool.name));
    // Keys are per call, so a second execution of a call shows under its first key and adds no key.
    expect(times.length).toBeLessThanOrEqual(baseline.world.timesPerCall(tool.name).length);
    if (tool.effect !== "once")
      expect(times.length).toBe(baseline.world.timesPerCall(tool.name).length);
    expect(times[0] ?? 0).toBeLessThanOrEqual(2);
  }
}

/** Each intent has one outcome, and each recorded answer ends its step (G1, G5). */
function assertOneOutcomeEach({ thread }: Played): void {
  const outcomes = thread
    .events()
    .filter(({ type }) =>
      [
        "model.answered",
        "model.failed",
        "model.interrupted",
        "tool.finished",
        "tool.interrupted",
      ].includes(type),
    );
  const causes = outcomes.map(({ header }) => header.cause);
  const intents = thread
    .events()
    .filter(({ type }) => type === "model.requested" || type === "tool.started");
  expect(causes.filter((cause) => cause !== null).toSorted()).toEqual(
    intents.map(({ header }) => header.id).toSorted(),
  );
  const answered = thread.of("model.answered").map(({ header }) => `${header.run} ${header.step}`);
  expect(new Set(answered).size).toBe(answered.length);
}

describe("[G1] [G2] [G5] [G6] [G7] [G8] [G9] [K7] stopped at every crossing of the gate, each scenario ends as if nothing had happened", () => {
  for (const scenario of SCENARIOS) {
    test(`[G1] ${scenario.name}`, async () => {
      const baseline = await play(scenario, 0);
      const crossings = baseline.boundary.crossed.length;
      expect(crossings).toBeGreaterThan(3);
      for (let target = 1; target <= crossings; target += 1) {
        const played = await play(scenario, target);
        const where = `crossing ${target}: ${played.boundary.crashedAt?.point}`;
        expect(played.boundary.crashedAt, where).not.toBeNull();
        expect(outcomeOf(played), where).toEqual(outcomeOf(baseline));
        assertCountsExact(played, baseline);
        assertOneOutcomeEach(played);
        expect(
          played.model.requests.map(findInvalid).filter((fault) => fault !== null),
          where,
        ).toEqual([]);
        expect(findUnrebuilt(played.thread.events()), where).toEqual([]);
        expect(played.thread.chainFault(), where).toBeNull();
      }
    }, 60_000);
  }
});

test("[G6] the suite can fail: a crash after dispatch runs a read tool twice, and the counts show it", async () => {
  const scenario = SCENARIOS.find(({ name }) => name.startsWith("twenty steps"));
  if (scenario === undefined) throw new Error("no such scenario");
  const baseline = await play(scenario, 0);
  const dispatches = baseline.boundary.crossed.flatMap((point, index) =>
    point === "after_dispatch" ? [index + 1] : [],
  );
  let repeated = 0;
  for (const target of dispatches.slice(0, 8)) {
    const { world } = await play(scenario, target);
    repeated += world.timesPerCall("read").filter((count) => count === 2).length;
  }
  expect(repeated).toBe(1);
});
