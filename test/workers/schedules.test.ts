/** Schedules as an object keeps them: one row whatever restarts, alarms that come by themselves, no firing twice. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, expect, it } from "vitest";
import { defineAgent, type AgentSpec } from "#authoring/define-agent.ts";
import type { ScheduleView } from "#ports/schedule-stub.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import type { Json } from "#shared/json.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ParkingHooks } from "../support/parking-hooks.ts";
import { say, ScriptModel } from "../support/scripted-model.ts";
import { StoredThread } from "../support/stored-thread.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

const HEARTBEAT_MS = 400;
let api: Api;
beforeAll(async () => {
  lab.heartbeatMs = HEARTBEAT_MS;
  api = await Api.service("sched");
});
afterEach(() => {
  lab.models.clear();
  lab.hooks = DEFAULT_HOOKS;
  lab.heartbeatMs = HEARTBEAT_MS;
});

const TICK: AgentSpec["schedules"] = { tick: { everySeconds: 60, text: "tick" } };
const until = (holds: () => boolean): Promise<true> =>
  api.until(async () => (holds() ? true : null));

class Timetable {
  readonly model = new StrictModel(() => say("ticked"));
  readonly thread: ThreadClient;
  readonly stored: StoredThread;
  readonly #name: string;

  constructor(name: string, schedules?: AgentSpec["schedules"]) {
    this.#name = name;
    this.deploy(schedules);
    lab.models.set(`test/${name}`, this.model);
    this.thread = new ThreadClient(api, name, "main");
    this.stored = new StoredThread("sched", name, "main");
  }
  deploy(schedules?: AgentSpec["schedules"]): void {
    const name = this.#name;
    const base = { name, description: name, instructions: "Tick.", model: `test/${name}` };
    deploy(defineAgent({ ...base, tools: [], ...(schedules === undefined ? {} : { schedules }) }));
  }
  put(id: string, rule: Json, more: Record<string, Json> = {}) {
    return this.call("PUT", `/${id}`, { rule, text: `do ${id}`, ...more });
  }
  call<T = ScheduleView>(method: string, path: string, json?: Json) {
    return api.json<T>(method, `${this.thread.path}/schedules${path}`, json);
  }
  /** Fires in a moment. */
  async soon(): Promise<void> {
    const put = await this.put("job", { type: "once", at: lab.clock.now() + 300 });
    expect(put.status).toBe(200);
  }
  async list(): Promise<readonly ScheduleView[]> {
    return (await this.call<{ items: readonly ScheduleView[] }>("GET", "")).body.items;
  }
  async fired(): Promise<readonly Json[]> {
    return (await this.thread.of("schedule.fired")).map(({ payload }) => payload["dueAt"] ?? null);
  }
  /** Time passes while nobody is there: the object is gone, and its next start finds what is due. */
  async sleep(ms: number): Promise<void> {
    await abortAllDurableObjects();
    lab.clock.advance(ms);
  }
  /** Comes to rest, with so many runs behind it. */
  async ran(runs: number): Promise<void> {
    await api.until(async () => {
      const ended = await this.thread.of("run.completed");
      return ended.length === runs ? true : null;
    });
  }
}

it("B13 [P120] [P125] [P127] declared at each of 25 starts it is one row, and fires once after half an hour away", async () => {
  const table = new Timetable("b13", TICK);
  await api.json("POST", "/v1/agents/b13/threads", { id: "main" });
  for (let start = 0; start < 25; start += 1) {
    await abortAllDurableObjects();
    expect((await api.json("GET", table.thread.path)).status).toBe(200);
  }
  const [tick, ...others] = await table.list();
  expect(others).toEqual([]);
  expect(tick).toMatchObject({ scheduleId: "tick", declared: true, paused: false, lastRun: null });
  expect(await table.thread.of("schedule.declared")).toHaveLength(1);
  const first = tick?.nextAt ?? 0;

  await table.sleep(30 * 60_000);
  await table.list();
  await table.ran(1);
  expect(await table.fired()).toEqual([first]);
  const next = (await table.list())[0]?.nextAt ?? 0;
  expect(next).toBeGreaterThan(lab.clock.now());
  expect(next).toBeLessThanOrEqual(lab.clock.now() + 60_000);
  // On the grid that was set, however late the firing before was.
  expect((next - first) % 60_000).toBe(0);

  await table.sleep(next - lab.clock.now());
  await table.list();
  await table.ran(2);
  expect(await table.fired()).toEqual([first, next]);
  expect(table.model.requests).toHaveLength(2);
  expect(await table.thread.chainFault()).toBeNull();
});

it("B13 [P126] the next alarm is the earliest due time: a one-shot before the next tick fires on time, after a restart that nobody asks", async () => {
  const table = new Timetable("one-shot", TICK);
  await api.json("POST", "/v1/agents/one-shot/threads", { id: "main" });
  const [tick] = await table.list();
  const at = lab.clock.now() + 2_000;
  expect((await table.put("once", { type: "once", at })).status).toBe(200);
  const list = await table.list();
  expect(list.map(({ scheduleId }) => scheduleId)).toEqual(["once", "tick"]);
  await abortAllDurableObjects();
  // Nobody asks the thread: only the directory, which its outbox tells.
  await until(() => table.model.requests.length === 1);
  expect(Math.abs(lab.clock.now() - at)).toBeLessThan(1_000);
  await table.ran(1);
  expect(await table.fired()).toEqual([at]);
  const [left, ...none] = await table.list();
  expect([left, none]).toEqual([tick, []]);
  // What is left to wait for is the tick, and its alarm is set.
  await api.until(async () => {
    const alarm = await table.stored.alarm();
    const wait = (tick?.nextAt ?? 0) - lab.clock.now();
    return alarm !== null && Math.abs(alarm - Date.now() - wait) < 1_000 ? true : null;
  });
});

it("[P121] [P126] killed at every place of the run that a firing began, there is one firing and one run", async () => {
  const dry = new ParkingHooks();
  lab.hooks = dry.hooks();
  const first = new Timetable("kill-0");
  await first.soon();
  await first.ran(1);
  expect(dry.passed.length).toBeGreaterThan(3);
  for (let place = 1; place <= dry.passed.length; place += 1) {
    const parking = new ParkingHooks(place);
    lab.hooks = parking.hooks();
    const table = new Timetable(`kill-${place}`);
    await table.soon();
    await until(() => parking.parked !== null);
    await abortAllDurableObjects();
    await table.ran(1);
    const where = `at ${place}: ${parking.parked}`;
    expect(await table.thread.of("schedule.fired"), where).toHaveLength(1);
    expect(await table.thread.of("input.received"), where).toHaveLength(1);
    expect(await table.thread.of("run.started"), where).toHaveLength(1);
  }
});

it("[P126] while a run is open no alarm lies behind a due time, whatever its heartbeat", async () => {
  lab.heartbeatMs = 60_000;
  const table = new Timetable("busy");
  const model = new ScriptModel([[{ hang: true }], say("done"), say("done")], { by: "call" });
  lab.models.set("test/busy", model);
  const alarmWithin = (ms: number) =>
    api.until(async () => {
      const alarm = await table.stored.alarm();
      return alarm !== null && alarm - Date.now() <= ms ? true : null;
    });
  const runId = await table.thread.send("go");
  await until(() => model.waiting === 1);
  await table.put("later", { type: "once", at: lab.clock.now() + 30_000 });
  await alarmWithin(30_000);
  await table.put("first", { type: "once", at: lab.clock.now() + 300 });
  await api.until(async () => ((await table.fired()).length === 1 ? true : null));
  // It waits behind the run; the alarm that brought it has set the next one.
  expect(await table.thread.of("run.completed")).toEqual([]);
  await alarmWithin(30_000);
  await table.call("DELETE", "/later");
  await api.json("POST", `${table.thread.path}/runs/${runId}/cancel`, {});
  await table.ran(1);
});

it("[P127] a deploy changes, adds and drops declared schedules; one that a person set stays, a pause stays too", async () => {
  const table = new Timetable("deploys", TICK);
  await api.json("POST", "/v1/agents/deploys/threads", { id: "main" });
  await table.put("mine", { type: "every", seconds: 3_600 });
  expect((await table.put("tick", { type: "every", seconds: 61 })).status).toBe(409);
  expect((await table.call("DELETE", "/tick")).status).toBe(409);
  expect((await table.call("POST", "/tick/pause")).body).toMatchObject({
    paused: true,
    nextAt: null,
  });
  table.deploy({
    tick: { everySeconds: 120, text: "tock" },
    morning: { cron: "30 7 * * 1-5", timeZone: "Europe/Berlin", text: "good morning" },
  });
  await abortAllDurableObjects();
  const list = await table.list();
  expect(list.map(({ scheduleId }) => scheduleId).toSorted()).toEqual(["mine", "morning", "tick"]);
  expect(list.find(({ scheduleId }) => scheduleId === "tick")).toMatchObject({
    rule: { type: "every", seconds: 120 },
    text: "tock",
    paused: true,
  });
  table.deploy();
  await abortAllDurableObjects();
  expect((await table.list()).map(({ scheduleId }) => scheduleId)).toEqual(["mine"]);
});
