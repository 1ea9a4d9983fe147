/** Metrics and the breaker of wakes through the API, over real objects, alarms and D1. */
import { abortAllDurableObjects, env, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import type { Env } from "#src/env.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ask, say } from "../support/scripted-model.ts";
import { StoredThread } from "../support/stored-thread.ts";
import { StrictModel, type Reply } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

const TENANT = "measured";
const HEARTBEAT_MS = 20_000;

interface Metrics {
  readonly families: readonly {
    readonly name: string;
    readonly samples: readonly {
      readonly labels: Readonly<Record<string, string>>;
      readonly value: number;
    }[];
  }[];
  readonly stalled: readonly {
    readonly thread: string;
    readonly wakes: number;
    readonly since: number;
  }[];
}

let api: Api;
beforeAll(async () => {
  lab.heartbeatMs = HEARTBEAT_MS;
  api = await Api.service(TENANT);
});
afterEach(() => {
  lab.models.clear();
  lab.hooks = DEFAULT_HOOKS;
  lab.build = {};
});

const look = defineTool({
  name: "look",
  description: "Looks.",
  version: "1",
  input: z.object({}),
  effect: "read",
  execute: () => "nothing new",
});

function start(name: string, reply: Reply) {
  const model = `test/${name}`;
  deploy(defineAgent({ name, description: name, instructions: "Help.", model, tools: [look] }));
  lab.models.set(model, new StrictModel(reply));
  const stored = new StoredThread(TENANT, name, "t1");
  return { thread: new ThreadClient(api, name, "t1"), stored };
}

async function metrics(): Promise<Metrics> {
  const headers = { accept: "application/json" };
  return (await api.json<Metrics>("GET", "/v1/metrics", undefined, headers)).body;
}

/** Samples of one agent, as `name label` to value. */
async function samplesOf(agent: string): Promise<Record<string, number>> {
  const { families } = await metrics();
  return Object.fromEntries(
    families.flatMap(({ name, samples }) =>
      samples
        .filter(({ labels }) => labels["agent"] === agent)
        .map(({ labels: { agent: _agent, ...by }, value }) => [
          [name.replace("holdfast_", ""), ...Object.values(by)].join(" "),
          value,
        ]),
    ),
  );
}

/** Waits until the thread has told everything and reports that nothing is left. */
async function told({ stored }: { readonly stored: StoredThread }): Promise<void> {
  await api.until(async () => ((await stored.alarm()) === null ? true : null));
}

describe("metrics over the API", () => {
  it("[H51][H52][H55] counts what the runs of a tenant did, once, and tells no other tenant", async () => {
    const live = start("counted", (_, index) => (index === 0 ? ask(["look"]) : say("done")));
    await live.thread.ask("go");
    await told(live);
    const once = {
      "runs_total started": 1,
      "runs_total completed": 1,
      runs_active: 0,
      steps_total: 2,
      "tool_calls_total ok": 1,
      outbox_lag_events: 0,
      outbox_lagging_threads: 0,
      wake_breaker_open_threads: 0,
    };
    expect(await samplesOf("counted")).toMatchObject(once);
    // A delivery that comes again, from the beginning, as after a crash before the cursor was kept.
    await live.stored.within(({ storage }) =>
      storage.sql.exec("UPDATE outbox_cursors SET seq = 0 WHERE name = 'metrics'"),
    );
    await live.thread.ask("again");
    await told(live);
    const after = await samplesOf("counted");
    expect(after).toMatchObject({
      ...once,
      "runs_total started": 2,
      "runs_total completed": 2,
      steps_total: 3,
    });
    expect(after["wakes_total"]).toBeGreaterThanOrEqual(2);
    const other = await Api.service("unmeasured");
    expect(await (await other.fetch("GET", "/v1/metrics")).text()).not.toContain("counted");
  });

  it("[H51] tells what the loop guard stopped, and by which pattern", async () => {
    const live = start("looping", () => ask(["look"]));
    expect(await live.thread.ask("go")).toMatchObject({ finish: "loop_guard" });
    await told(live);
    expect(await samplesOf("looping")).toMatchObject({
      "guard_stops_total repeat": 1,
      "guard_nudges_total repeat": 1,
    });
  });
});

describe("a thread that is used again and again", () => {
  it("[H50][H53] frequent use that gets somewhere is never held up", async () => {
    const live = start("busy", () => say("yes"));
    for (let turn = 1; turn <= 15; turn += 1) {
      await live.thread.ask(`turn ${turn}`);
      await live.stored.within(({ storage }) =>
        storage.sql.exec("UPDATE cf_agents_jobs SET time = 1"),
      );
      const { AGENT } = env as unknown as Env;
      await runDurableObjectAlarm(AGENT.getByName(live.stored.name));
    }
    await told(live);
    const samples = await samplesOf("busy");
    expect(samples).toMatchObject({
      "runs_total completed": 15,
      wake_breaker_trips_total: 0,
      wake_breaker_open_threads: 0,
    });
    expect(samples["wakes_this_hour"]).toBeGreaterThanOrEqual(15);
  });
});

describe("an outbox that cannot deliver", () => {
  it("[H55] is reported with how much and since when, and no longer once it can", async () => {
    let isAway = true;
    lab.build = {
      archive: {
        put: () => (isAway ? Promise.reject(new Error("the archive is away")) : Promise.resolve()),
        delete: () => Promise.resolve(),
      },
    };
    const { thread, stored } = start("lagging", () => say("yes"));
    await thread.writeFile("large.txt", "large ".repeat(60_000));
    const lag = () =>
      api.until(async () => {
        const samples = await samplesOf("lagging");
        return (samples["outbox_lag_events"] ?? 0) > 0 ? samples : null;
      });
    expect(await lag()).toMatchObject({ outbox_lagging_threads: 1 });
    const { lag_since: since } = await health("lagging");
    expect(since).toBe((await thread.events())[0]?.header.at);
    isAway = false;
    await stored.within(({ storage }) => storage.sql.exec("UPDATE cf_agents_jobs SET time = 1"));
    await runDurableObjectAlarm((env as unknown as Env).AGENT.getByName(stored.name));
    await told({ stored });
    const after = { outbox_lagging_threads: 0, outbox_lag_events: 0, outbox_lag_seconds: 0 };
    expect(await samplesOf("lagging")).toMatchObject(after);
    expect(await health("lagging")).toMatchObject({ lag_since: null });
  });
});

/** What the thread of an agent reported last. */
async function health(agent: string): Promise<{ readonly lag_since: number | null }> {
  const row = await (env as unknown as Env).DB.prepare(
    "SELECT lag_since FROM thread_health WHERE tenant = ? AND agent = ?",
  )
    .bind(TENANT, agent)
    .first<{ lag_since: number | null }>();
  if (row === null) throw new Error("nothing was reported");
  return row;
}

/** Stays for ever before the first event of a step, so that each wake of the run gets nowhere. */
class Stuck {
  asked = 0;
  isStuck = true;

  hooks(): typeof DEFAULT_HOOKS {
    const check = async (view: Parameters<typeof DEFAULT_HOOKS.policy.check>[0]) => {
      this.asked += 1;
      if (this.isStuck) await new Promise(() => undefined);
      return DEFAULT_HOOKS.policy.check(view);
    };
    return { ...DEFAULT_HOOKS, policy: { check } };
  }
}

function dueOf(stored: StoredThread): Promise<number> {
  return stored.within(
    ({ storage }) =>
      storage.sql.exec<{ time: number }>("SELECT time FROM cf_agents_jobs").one().time,
  );
}

/** The process dies and its alarm comes: how long until the next one. */
async function dieAndWake(stored: StoredThread, stuck: Stuck): Promise<number> {
  const { AGENT } = env as unknown as Env;
  await abortAllDurableObjects();
  await stored.within(({ storage }) => storage.sql.exec("UPDATE cf_agents_jobs SET time = 1"));
  const before = stuck.asked;
  const wokenAt = Date.now();
  // Not awaited: the work of this wake never ends.
  void runDurableObjectAlarm(AGENT.getByName(stored.name)).catch(() => undefined);
  await api.until(async () => (stuck.asked > before ? true : null));
  const due = await api.until(async () => {
    const time = await dueOf(stored);
    return time > 1 ? time : null;
  });
  return due - wokenAt;
}

describe("a thread that is woken again and again without progress", () => {
  it("[H50][H53][H54] is woken ever less often and says so; once it gets on, it is as before", async () => {
    const stuck = new Stuck();
    lab.hooks = stuck.hooks();
    const live = start("stuck", () => say("at last"));
    const runId = await live.thread.send("go");
    await api.until(async () => (stuck.asked === 1 ? true : null));
    const since = lab.clock.now();
    const delays: number[] = [];
    for (let wake = 1; wake <= 13; wake += 1) {
      const delay = await dieAndWake(live.stored, stuck);
      delays.push(delay);
      lab.clock.advance(delay);
    }
    const in20s = delays.map((delay) => Math.floor(delay / HEARTBEAT_MS));
    // The first wake gets somewhere: it signs the head of the run that goes on (H3).
    expect(in20s).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4]);
    const open = { wake_breaker_open_threads: 1, wake_breaker_trips_total: 1, wakes_total: 13 };
    await api.until(async () => ((await samplesOf("stuck"))["wakes_total"] === 13 ? true : null));
    expect(await samplesOf("stuck")).toMatchObject(open);
    const [stalled] = (await metrics()).stalled;
    expect(stalled).toMatchObject({ thread: "t1", wakes: 12 });
    expect(stalled?.since).toBeGreaterThanOrEqual(since + HEARTBEAT_MS);
    expect(stalled?.since).toBeLessThan(since + 2 * HEARTBEAT_MS);
    stuck.isStuck = false;
    await dieAndWake(live.stored, stuck);
    expect(await live.thread.ended(runId)).toMatchObject({ status: "completed", text: "at last" });
    await told(live);
    expect(await samplesOf("stuck")).toMatchObject({
      ...open,
      wake_breaker_open_threads: 0,
      wakes_total: 15,
    });
    expect((await metrics()).stalled).toEqual([]);
  });
});
