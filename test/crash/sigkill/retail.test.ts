/**
 * Retail tasks of tau2-bench on a real server that SIGKILL takes down: inside of the shop's own changes, and at seeded
 * random moments of a sample of tasks. The shop lives in this process. test/crash/retail.test.ts plays every task and step.
 *
 * HOLDFAST_SIGKILL_TASKS and HOLDFAST_SIGKILL_SEED choose another number of tasks and other moments.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isJsonObject, type Json } from "#shared/json.ts";
import { CrashClient, createFollowing } from "../../support/crash-client.ts";
import { messageOf } from "../../support/crash-script.ts";
import { createDevServer, type DevServer } from "../../support/dev-server.ts";
import { exportFault } from "../../support/export-fault.ts";
import { Outside, type Moment, type Play, type Point } from "../../support/outside.ts";
import { serveDesk } from "../../support/retail/http-desk.ts";
import { RetailShop } from "../../support/retail/shop.ts";
import { NO_RETAIL, readRetail, shopAfter, type RetailTask } from "../../support/retail/tasks.ts";
import { createRandom } from "../../support/seeded-random.ts";

const TASKS = Number(process.env["HOLDFAST_SIGKILL_TASKS"] ?? 8);
const SEED = Number(process.env["HOLDFAST_SIGKILL_SEED"] ?? 20261130);
const MAX_KILLS = 2;
const MAX_DELAY_MS = 12;
/** Of one action: the model before, asked, streaming and done; the shop asked and done. */
const MOMENTS_PER_ACTION = 6;
const DEADLINE_MS = 60_000;
const GOODBYE = "That is all.";

const { tasks, data } = readRetail() ?? {
  tasks: [],
  data: { users: {}, orders: {}, products: {} },
};

describe.skipIf(tasks.length === 0)(
  `retail tasks under SIGKILL (skipped where ${NO_RETAIL})`,
  () => {
    let outside: Outside;
    let server: DevServer;
    let client: CrashClient;
    let shop = new RetailShop(data);
    /** Tasks are played one after the other: a shop's request does not say for which. */
    let playing = "";

    const play: Play = {
      script(run, step) {
        const action = taskOf(run).actions[step - 1];
        if (action === undefined) return { text: [GOODBYE], calls: [] };
        return { text: [], calls: [{ tool: action.name, args: action.arguments }] };
      },
      desk: (body) => ({ run: playing, ...serveDesk(body, shop) }),
    };

    beforeAll(async () => {
      outside = await Outside.start(play);
      server = await createDevServer({ main: "test/support/crash-worker.ts", vars: outside.vars });
      client = new CrashClient(server, "retail");
      await server.start();
    });
    afterAll(async () => {
      await server.dispose();
      await outside[Symbol.asyncDispose]();
    });

    /** Plays a task while `disturb` kills, and compares with the same actions without any runtime. */
    const playTask = async (run: string, disturb: (ended: Promise<void>) => Promise<void>) => {
      const task = taskOf(run);
      shop = new RetailShop(data);
      playing = run;
      const receipt = await client.send(run, messageOf(run), `msg-${run}`);
      const following = createFollowing();
      const followed = client.follow(receipt, following, AbortSignal.timeout(2 * DEADLINE_MS));
      await disturb(followed);
      await followed;
      expect(following.ended, run).toBe("run.completed");
      expect(following.mismatches, run).toEqual([]);
      expect(await client.run(run, receipt.runId), run).toMatchObject({
        status: "completed",
        finish: "stop",
        text: GOODBYE,
      });
      const direct = shopAfter(task, data);
      expect(shop.digest(), run).toBe(direct.digest());
      expect(toPlain(shop), run).toEqual(toPlain(direct));
      expect(new Set(shop.changes.map(({ key }) => key)).size, run).toBe(shop.changes.length);
      const { asked, answered } = callsIn(outside.prompts.get(run)?.at(-1)?.["messages"] ?? null);
      expect(asked.length, run).toBe(task.actions.length);
      expect(answered, run).toEqual(asked);
      expect(new Set(answered).size, run).toBe(answered.length);
      expect(outside.refused, run).toEqual([]);
      expect(await exportFault(await client.export(run)), run).toBeNull();
    };

    it.each([
      ["a booking that was not made", "cancel_pending_order", "asked", "38"],
      ["a booking that was made", "cancel_pending_order", "done", "38"],
      ["a second booking that was made", "cancel_pending_order", "done", "16"],
      ["a booking that was refused", "exchange_delivered_order_items", "done", "64"],
      ["an address that was changed", "modify_user_address", "done", "22"],
      ["a ticket that was made", "transfer_to_human_agents", "done", "10"],
    ] as const)("[G7] [G8] killed in %s", async (name, what, point: Point, id) => {
      const run = `task-${id}-${name.replaceAll(" ", "-")}`;
      const match = (moment: Moment): boolean =>
        moment.run === run && moment.what === what && moment.point === point;
      const nth = name.includes("second") ? 2 : 1;
      let seen = 0;
      const release = outside.hold((moment) => match(moment) && (seen += 1) === nth);
      await playTask(run, async () => {
        await outside.reached(match, { nth, timeoutMs: DEADLINE_MS });
        await server.kill();
        await server.start();
        release();
      });
    });

    it(`[G1] [G5] leaves the shop of ${TASKS} tasks as it would be, killed at random moments`, async () => {
      const random = createRandom(SEED);
      const played = new Set<string>();
      while (played.size < Math.min(TASKS, tasks.length)) {
        const task = tasks[random.below(tasks.length)];
        if (task === undefined || played.has(task.id) || task.actions.length === 0) continue;
        played.add(task.id);
        const run = `task-${task.id}-random`;
        const kills = 1 + random.below(MAX_KILLS);
        await playTask(run, async (ended) => {
          for (let kill = 0; kill < kills; kill += 1) {
            const passed = outside.of(run).length;
            const left = Math.max(task.actions.length * MOMENTS_PER_ACTION - passed, 1);
            const nth = passed + 1 + random.below(left);
            const delay = random.below(MAX_DELAY_MS + 1);
            await Promise.race([
              outside.reached((moment) => moment.run === run, { nth, timeoutMs: DEADLINE_MS }),
              ended,
            ]);
            await pause(delay);
            await server.kill();
            await server.start();
          }
        });
      }
      console.info(`retail under SIGKILL: tasks ${[...played].join(" ")}`);
    });
  },
);

function taskOf(run: string): RetailTask {
  const task = tasks.find(({ id }) => id === /^task-(\d+)-/.exec(run)?.[1]);
  if (task === undefined) throw new Error(`no task for ${run}`);
  return task;
}

function toPlain(shop: RetailShop): readonly unknown[] {
  return shop.changes.map(({ name, args }) => ({ name, args }));
}

/** Ids of calls and of results, in the order of the prompt. */
function callsIn(messages: Json) {
  const list: readonly Json[] = Array.isArray(messages) ? messages : [];
  const all = list.filter(isJsonObject);
  const calls = all.flatMap(({ tool_calls }): readonly Json[] =>
    Array.isArray(tool_calls) ? tool_calls : [],
  );
  return {
    asked: calls.filter(isJsonObject).map(({ id }) => id),
    answered: all.filter(({ role }) => role === "tool").map(({ tool_call_id }) => tool_call_id),
  };
}
