/**
 * The retail tasks of tau2-bench, stopped at every crossing of the gate: whatever the step, the shop ends as it does for a
 * run that nothing stopped, and as it does for the same actions without any runtime.
 *
 * The shop lies outside of the thread and lives on while the thread dies; the model plays the gold actions, one a step.
 */
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "#ports/model.ts";
import { Crash, CrashBoundary } from "#test/support/crash-boundary.ts";
import { findUnrebuilt } from "#test/support/recompile.ts";
import { NO_RETAIL, readRetail, shopAfter, type RetailTask } from "#test/support/retail/tasks.ts";
import { BOOKINGS, isWrite } from "#test/support/retail/requests.ts";
import { RetailShop } from "#test/support/retail/shop.ts";
import { retailTools, type RetailOptions } from "#test/support/retail/tools.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { findInvalid } from "#test/support/valid-prompt.ts";

const { tasks, data } = readRetail() ?? {
  tasks: [],
  data: { users: {}, orders: {}, products: {} },
};

interface Played {
  readonly task: RetailTask;
  readonly thread: ThreadHarness;
  readonly model: ScriptModel;
  readonly shop: RetailShop;
  readonly boundary: CrashBoundary;
}

async function play(
  task: RetailTask,
  target: number,
  options: RetailOptions = {},
): Promise<Played> {
  const shop = new RetailShop(data);
  const steps = task.actions.map(({ name, arguments: args }) => ask([name, args]));
  const model = new ScriptModel([...steps, say("That is all.")]);
  const boundary = new CrashBoundary(target);
  const tools = retailTools(shop, options);
  const thread = new ThreadHarness({
    model,
    tools,
    boundary,
    // Nothing is trimmed: each result is to stand in the last prompt.
    manifest: { contextTokens: 400_000 },
  });
  const finish = async (): Promise<void> => {
    thread.send("Help me.", { key: "k1", messageId: "msg_1", runId: "run_1" });
    await thread.finish();
  };
  try {
    await finish();
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
    thread.boundary = new CrashBoundary();
    thread.reopen();
    await finish();
  }
  return { task, thread, model, shop, boundary };
}

/** What the model was shown of each call, in order; ids of the log are minted anew and say nothing. */
function resultsIn(request: ModelRequest | undefined): readonly unknown[] {
  return (request?.messages ?? []).flatMap(({ content }) =>
    content.flatMap((part): readonly unknown[] =>
      part.type === "result" ? [[part.name, part.output, part.isError]] : [],
    ),
  );
}

function changesOf({ shop }: Played): readonly unknown[] {
  return shop.changes.map(({ name, args }) => [name, args]);
}

function assertAsIfNothing(played: Played, baseline: Played, where: string): void {
  const { task, thread, model, shop } = played;
  expect(shop.digest(), where).toBe(baseline.shop.digest());
  expect(changesOf(played), where).toEqual(changesOf(baseline));
  expect(new Set(shop.changes.map(({ key }) => key)).size, where).toBe(shop.changes.length);
  expect(thread.run("run_1"), where).toMatchObject({ status: "completed", text: "That is all." });
  const results = resultsIn(model.requests.at(-1));
  expect(results.length, where).toBe(task.actions.length);
  expect(results, where).toEqual(resultsIn(baseline.model.requests.at(-1)));
  const invalid = model.requests.map(findInvalid).filter((fault) => fault !== null);
  expect(invalid, where).toEqual([]);
  expect(thread.chainFault(), where).toBeNull();
}

/** G5, G6, G7, G8: a crash repeats nothing but the one attempt that it cut off, and that only where it may. */
function assertRepeats({ thread, model, shop, boundary }: Played, baseline: Played): void {
  const { point, effectId = "" } = boundary.crashedAt ?? {};
  const cutOff = thread.events().find(({ header }) => header.id === effectId);
  const isLost = point === "after_dispatch";
  const lostAnswer = isLost && cutOff?.type === "model.requested" ? 1 : 0;
  expect(model.requests.length).toBe(baseline.model.requests.length + lostAnswer);
  const lost = isLost && cutOff?.type === "tool.started" ? cutOff.payload : null;
  const isAskedAgain = lost?.effect === "idempotent" ? 1 : 0;
  // What the shop refused did not happen, so it is tried again and refused again.
  const isRefusedAgain =
    lost?.effect === "reconcile" && !shop.changes.some(({ key }) => key === lost.idempotencyKey);
  expect(shop.requests.length).toBe(
    baseline.shop.requests.length + isAskedAgain + (isRefusedAgain ? 1 : 0),
  );
}

describe.skipIf(tasks.length === 0)(`retail tasks (skipped where ${NO_RETAIL})`, () => {
  test("[G1] without a crash a task leaves the shop as its actions without a runtime do", async () => {
    let changes = 0;
    for (const task of tasks) {
      const { shop, thread } = await play(task, 0);
      const direct = shopAfter(task, data);
      expect([task.id, shop.digest()]).toEqual([task.id, direct.digest()]);
      expect(shop.changes.map(({ name, args }) => [name, args])).toEqual(
        direct.changes.map(({ name, args }) => [name, args]),
      );
      expect(findUnrebuilt(thread.events())).toEqual([]);
      changes += shop.changes.length;
    }
    // A digest that stood still would agree with anything.
    const untouched = new RetailShop(data).digest();
    const changing = tasks.filter(({ actions }) => actions.some(({ name }) => isWrite(name)));
    const changed = tasks.filter((task) => shopAfter(task, data).digest() !== untouched);
    expect(changed).toEqual(changing);
    expect([tasks.length, changes]).toEqual([70, 94]);
  }, 60_000);

  test.each(tasks)(
    "[G1] [G5] [G6] [G7] [G8] [K7] task $id, stopped at every crossing",
    async (task) => {
      const baseline = await play(task, 0);
      const crossings = baseline.boundary.crossed.length;
      expect(crossings).toBe(4 * (2 * task.actions.length + 1));
      for (let target = 1; target <= crossings; target += 1) {
        const played = await play(task, target);
        const where = `crossing ${target}: ${played.boundary.crashedAt?.point}`;
        expect(played.boundary.crashedAt, where).not.toBeNull();
        assertAsIfNothing(played, baseline, where);
        assertRepeats(played, baseline);
      }
    },
    60_000,
  );

  test("[G9] of a shop that cannot be asked, a call cut off is reported as unknown and never made twice", async () => {
    let [done, notDone] = [0, 0];
    for (const task of tasks) {
      const baseline = await play(task, 0, { bookings: "once" });
      for (const target of cutsOf(baseline)) {
        const { thread, shop, model, boundary } = await play(task, target, { bookings: "once" });
        const { point, effectId } = boundary.crashedAt ?? {};
        const started = thread.of("tool.started").find(({ header }) => header.id === effectId);
        const key = started?.payload?.idempotencyKey;
        const happened = point === "after_dispatch";
        expect(shop.requests.filter((request) => request.key === key)).toHaveLength(
          happened ? 1 : 0,
        );
        expect(
          thread.of("tool.started").filter(({ payload }) => payload?.idempotencyKey === key),
        ).toHaveLength(1);
        const results = thread
          .of("tool.finished")
          .filter(({ header }) => header.call === started?.header.call);
        expect(results).toMatchObject([
          { payload: { result: { status: "unknown", code: "outcome_unknown" } } },
        ]);
        expect(resultsIn(model.requests.at(-1))).toHaveLength(task.actions.length);
        if (happened) expect(shop.digest()).toBe(baseline.shop.digest());
        if (happened) done += 1;
        else notDone += 1;
      }
    }
    expect([done, notDone]).toEqual([76, 76]);
  }, 60_000);

  test("the suite can fail: bookings wrongly declared idempotent are seen to happen twice", async () => {
    const faults: string[] = [];
    for (const task of tasks.slice(0, 10)) {
      const baseline = await play(task, 0, { bookings: "idempotent" });
      for (const target of cutsOf(baseline).filter((_, index) => index % 2 === 1)) {
        const played = await play(task, target, { bookings: "idempotent" });
        try {
          assertAsIfNothing(played, baseline, "");
        } catch {
          faults.push(task.id);
        }
      }
    }
    expect(faults.length).toBeGreaterThanOrEqual(9);
  });
});

/** After intent and after dispatch of each booking: between the two a process dies without knowing. */
function cutsOf({ thread, boundary }: Played): readonly number[] {
  const names = thread.of("tool.started").map(({ payload }) => payload?.name ?? "");
  return boundary.crossed.flatMap((point, index) => {
    // Steps alternate between a model call and a tool call, of four crossings each.
    const effect = Math.floor(index / 4);
    const isBooking = effect % 2 === 1 && Object.hasOwn(BOOKINGS, names[(effect - 1) / 2] ?? "");
    return isBooking && (point === "after_intent" || point === "after_dispatch") ? [index + 1] : [];
  });
}
