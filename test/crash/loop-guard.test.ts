/** A looping run, stopped at every crossing of the gate and opened again: the count goes on, and nothing runs more often. */
import { expect, test } from "vitest";
import { Crash, CrashBoundary } from "#test/support/crash-boundary.ts";
import { ask, say, ScriptModel, type ScriptPart } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

type Script = readonly (readonly ScriptPart[])[];
const endless = (step: (index: number) => readonly ScriptPart[]): Script =>
  Array.from({ length: 100 }, (_, index) => step(index));
const three = ["look", { id: 1 }] as const;

const LOOPS: readonly { name: string; script: Script; calls: number; pattern: string }[] = [
  { name: "one call", script: endless(() => ask(three)), calls: 5, pattern: "repeat" },
  {
    name: "three equal calls an answer",
    script: endless(() => ask(three, three, three)),
    calls: 5,
    pattern: "repeat",
  },
  {
    name: "two calls in turn",
    script: endless((index) => ask([index % 2 === 0 ? "look" : "other"])),
    calls: 6,
    pattern: "cycle_2",
  },
  {
    name: "numbered calls",
    script: endless((index) => ask(["look", { id: 1, request_id: index }])),
    calls: 9,
    pattern: "no_progress",
  },
];

async function play(script: Script, target: number) {
  const world = new World();
  const model = new ScriptModel(script);
  const boundary = new CrashBoundary(target);
  const tools = [world.tool("look", "idempotent"), world.tool("other", "idempotent")];
  const thread = new ThreadHarness({ model, tools, boundary });
  const send = async (): Promise<void> => {
    thread.send("go", { key: "k1", messageId: "msg_1", runId: "run_1" });
    await thread.finish();
  };
  try {
    await send();
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
    thread.boundary = new CrashBoundary();
    thread.reopen();
    await send();
  }
  const keys = new Set(world.executions.map(({ key }) => key));
  return { thread, model, world, boundary, calls: keys.size };
}

/** All that a run ends with but what it spent, which a lost attempt adds to. */
function endOf(thread: ThreadHarness): object {
  const { totals: _, ...end } = { totals: null, ...thread.of("run.completed")[0]?.payload };
  return end;
}

for (const { name, script, calls, pattern } of LOOPS) {
  test(`[B8] ${name}: wherever it is killed, it is stopped at the same call`, async () => {
    // Numbers of a request are noise to a tool that only reads.
    const baseline = await play(script, 0);
    const ended = endOf(baseline.thread);
    expect(ended).toMatchObject({ finish: "loop_guard", loop: { pattern } });
    expect(baseline.calls).toBe(calls);
    const crossings = baseline.boundary.crossed.length;
    for (let target = 1; target <= crossings; target += 1) {
      const played = await play(script, target);
      const at = played.boundary.crashedAt?.point;
      const where = `crossing ${target}: ${at}`;
      expect(at, where).toBeDefined();
      expect(endOf(played.thread), where).toEqual(ended);
      expect(played.calls, where).toBe(calls);
      // What was cut off is repeated once, under its first key, and is no call more.
      expect(played.world.executions.length - calls, where).toBeLessThanOrEqual(3);
      const asked = played.model.requests.length - baseline.model.requests.length;
      expect(asked, where).toBeLessThanOrEqual(1);
      expect(played.thread.of("context.added"), where).toHaveLength(
        baseline.thread.of("context.added").length,
      );
      expect(played.thread.chainFault(), where).toBeNull();
    }
  }, 60_000);
}

test("[B8] opened again after every single call, it is stopped by the fifth", async () => {
  const world = new World();
  const tools = [world.tool("look", "read", () => "unknown")];
  const model = new ScriptModel([...endless(() => ask(three)), say("never")]);
  let boundary = new CrashBoundary();
  const thread = new ThreadHarness({ model, tools });
  thread.send("go");
  for (let life = 0; life < 50 && thread.runtime.state.run !== null; life += 1) {
    // Dies when the first tool call of this life has been recorded.
    boundary = new CrashBoundary();
    let finished = 0;
    thread.boundary = {
      cross: (point, effectId) => {
        boundary.cross(point, effectId);
        if (point !== "after_outcome") return;
        finished += thread.of("tool.finished").some(({ header }) => header.cause === effectId)
          ? 1
          : 0;
        if (finished === 1) throw new Crash(point);
      },
    };
    await thread.finish().catch((error: unknown) => {
      if (!(error instanceof Crash)) throw error;
    });
    thread.reopen();
  }
  expect(world.executions).toHaveLength(5);
  expect(thread.of("run.completed")[0]?.payload).toMatchObject({
    finish: "loop_guard",
    loop: { pattern: "repeat", count: 5 },
  });
});
