/**
 * Random schedules of decisions, expiry, cancellation, new messages and restarts over the real runtime: every call has one
 * result, every approval one decision, and a call runs exactly once when it was approved and never otherwise.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import type { Model, ModelCallOptions, ModelPart, ModelRequest } from "#ports/model.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { findInvalid } from "#test/support/valid-prompt.ts";
import { World } from "#test/support/world.ts";

type Action = readonly [kind: number, pick: number];
const schedule = fc.array(fc.tuple(fc.nat(11), fc.nat(1_000)), { minLength: 3, maxLength: 30 });
const NAMES = ["wire", "mail", "look"] as const;

/** Answers by the number of finished steps, so that a repeated attempt gets the same answer. */
class PickedModel implements Model {
  readonly route = "test/picked";
  readonly requests: ModelRequest[] = [];
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  async *stream(request: ModelRequest, options: ModelCallOptions): AsyncGenerator<ModelPart> {
    this.requests.push(request);
    const steps = request.messages.filter(({ role }) => role === "assistant").length;
    const pick = (this.#seed + steps * 7) % 11;
    const calls = Array.from({ length: 1 + (pick % 3) }, (_, index) => {
      const name = NAMES[(pick + index) % NAMES.length] ?? "wire";
      return [name, { step: steps, index }] as const;
    });
    const step = pick > 7 ? say(`answer ${steps}`) : ask(...calls);
    yield* new ScriptModel([step], { by: "call" }).stream(request, options);
  }
}

function open(seed: number) {
  const world = new World();
  const limits = { timeoutMs: 1_000, maxResultBytes: 400, maxCallsPerRun: 100 };
  const approval = { approval: "always", limits: { ...limits, approvalTimeoutMs: 5_000 } } as const;
  const model = new PickedModel(seed);
  const thread = new ThreadHarness({
    model,
    database: new NodeSqlite(),
    tools: [
      world.tool("wire", "once", undefined, approval),
      world.tool("mail", "idempotent", undefined, approval),
      world.tool("look", "read"),
    ],
    manifest: { limits: { maxSteps: 8, maxCostMicros: null, maxTokens: null, maxQueuedInputs: 5 } },
  });
  return { world, model, thread };
}

async function act(thread: ThreadHarness, [kind, pick]: Action): Promise<void> {
  const ids = thread.of("approval.requested").map(({ header }) => header.id);
  const id = ids[pick % Math.max(1, ids.length)] ?? "evt_none";
  switch (kind) {
    case 0:
    case 1:
    case 2:
      thread.decide(id, "approve");
      return;
    case 3:
      thread.decide(id, "deny", pick % 2 === 0 ? {} : { comment: `no ${pick}` });
      return;
    case 4:
      thread.decide(id, "answer", { answer: "not a question" });
      return;
    case 5:
      thread.clock.set(thread.clock.now() + pick * 10);
      return;
    case 6:
      if (pick % 4 === 0) thread.cancel(thread.runtime.state.run?.runId ?? "run_none");
      return;
    case 7:
      thread.send(`message ${pick}`, { delivery: pick % 2 === 0 ? "queue" : "steer" });
      return;
    case 8:
    case 9:
      thread.reopen();
      return;
    default:
      await thread.runtime.drive();
  }
}

test("[A3] [A5] [A6] [A7] [K7] any schedule: one result a call, one decision an approval, run once when approved and never otherwise", async () => {
  const seen = { approved: 0, expired: 0, superseded: 0, cancelled: 0, denied: 0, answered: 0 };
  await fc.assert(
    fc.asyncProperty(schedule, fc.nat(1_000), async (actions, seed) => {
      const { world, model, thread } = open(seed);
      thread.send("begin");
      await thread.runtime.drive();
      for (const action of actions) await act(thread, action);
      thread.reopen();
      await thread.finish();

      const events = thread.events();
      const made = thread
        .of("model.answered")
        .flatMap(({ payload }) => payload?.parts ?? [])
        .flatMap((part) => (part.type === "call" ? [part.callId] : []));
      const closed = events.flatMap(({ type, header }) =>
        type === "tool.finished" || type === "tool.refused" ? [header.call] : [],
      );
      expect(closed.toSorted()).toEqual(made.toSorted());
      expect(model.requests.map(findInvalid).filter((fault) => fault !== null)).toEqual([]);

      const requested = thread.of("approval.requested");
      expect(new Set(requested.map(({ header }) => header.call)).size).toBe(requested.length);
      const decided = new Map(
        thread.of("approval.decided").map(({ header, payload }) => [header.cause, payload]),
      );
      expect(thread.of("approval.decided")).toHaveLength(requested.length);
      const refused = new Set(thread.of("tool.refused").map(({ header }) => header.call));
      for (const { header, payload } of requested) {
        const decision = decided.get(header.id)?.decision ?? "superseded";
        seen[decision] += 1;
        const starts = thread
          .of("tool.started")
          .filter((start) => start.header.call === header.call);
        const key = starts[0]?.payload?.idempotencyKey;
        const runs = world.executions.filter((execution) => execution.key === key);
        const mayRun = decision === "approved" && !refused.has(header.call);
        expect(runs).toHaveLength(mayRun ? 1 : 0);
        if (mayRun) expect(runs[0]?.args).toEqual(payload?.args);
      }
      const guarded = world.executions.filter(({ tool }) => tool !== "look");
      expect(guarded.length).toBeLessThanOrEqual(requested.length);

      const folded = events.reduce(THREAD_FOLD.evolve, THREAD_FOLD.initial());
      expect(folded).toEqual(thread.runtime.state);
      expect(thread.chainFault()).toBeNull();
    }),
    { numRuns: 150 },
  );
  // The schedules must reach what they are for, or the test proves nothing.
  const { answered, ...reached } = seen;
  expect(answered).toBe(0);
  for (const [decision, count] of Object.entries(reached))
    expect(count, decision).toBeGreaterThan(0);
}, 120_000);
