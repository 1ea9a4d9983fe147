/** What a crash of the object leaves behind and how the thread goes on by itself: no request, only its alarm. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool, type CheckAnswer } from "#authoring/define-tool.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import type { Model } from "#ports/model.ts";
import type { Tool, ToolEffect } from "#ports/tool.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ParkingHooks } from "../support/parking-hooks.ts";
import { ask, say, type ScriptPart } from "../support/scripted-model.ts";
import { seqFaults, shownText, TERMINAL, typesOf } from "../support/sse-reader.ts";
import { StoredThread } from "../support/stored-thread.ts";
import { lastResults, StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

let api: Api;
beforeAll(async () => {
  lab.heartbeatMs = 400;
  api = await Api.service("wake");
});
afterEach(() => {
  lab.models.clear();
  lab.hooks = DEFAULT_HOOKS;
});

function start(name: string, model: Model, tools: readonly Tool[] = []) {
  const route = `test/${name}`;
  deploy(defineAgent({ name, description: name, instructions: "Help.", model: route, tools }));
  lab.models.set(route, model);
  return {
    thread: new ThreadClient(api, name, "t1"),
    stored: new StoredThread("wake", name, "t1"),
  };
}

const until = (holds: () => boolean): Promise<true> =>
  api.until(async () => (holds() ? true : null));

/** Crashes every object and waits until each thread has told the directory of a later event, asking them nothing. */
async function crashAndWait(...threads: readonly StoredThread[]): Promise<void> {
  const before = await Promise.all(threads.map((stored) => stored.lastSeq()));
  await abortAllDurableObjects();
  await api.until(async () => {
    const after = await Promise.all(threads.map((stored) => stored.lastSeq()));
    return after.every((seq, index) => (seq ?? 0) > (before[index] ?? 0)) ? true : null;
  });
}

const HALF: readonly ScriptPart[] = [{ text: "half" }, { hang: true }];

/** Counts outside of every object: its effect happens, and its first answer never comes back. */
class Outside {
  readonly keys: string[] = [];
  readonly checks: string[] = [];
  readonly #happensFirst: boolean;

  constructor(happensFirst = true) {
    this.#happensFirst = happensFirst;
  }
  get calls(): number {
    return this.keys.length;
  }

  tool(effect: ToolEffect): Tool {
    const base = {
      name: "act",
      description: "Acts.",
      version: "1",
      input: z.object({}),
      limits: { timeoutMs: 600_000 },
      execute: async (_: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
        this.keys.push(idempotencyKey);
        return this.keys.length === 1 ? new Promise<string>(() => undefined) : "acted again";
      },
    };
    if (effect !== "reconcile") return defineTool({ ...base, effect });
    const check = async (key: string): Promise<CheckAnswer> => {
      this.checks.push(key);
      return this.#happensFirst && this.keys.includes(key)
        ? { happened: true, result: "it had happened" }
        : { happened: false };
    };
    return defineTool({ ...base, effect, check });
  }
}

describe("a crash in a model stream", () => {
  it("[K15][G12][P2][P3] the run ends by itself, the repeat is marked, and a returning client sees each event once", async () => {
    const model = new StrictModel((_, index) => (index === 0 ? HALF : say("whole")));
    const { thread, stored } = start("in-model", model);
    const runId = await thread.send("hi");
    const reader = await thread.stream(runId);
    await reader.until(({ events }) => shownText(events) === "half");
    await crashAndWait(stored);
    expect(model.requests).toHaveLength(2);
    const lost = await reader.toEnd();
    const seen = lost.filter(({ event }) => event !== "error");
    const back = await thread.stream(runId, seen.at(-1)?.id);
    const all = [...seen, ...(await back.toEnd())];
    expect(seqFaults(all)).toEqual([]);
    expect(all.filter(({ event }) => event === "discard")).toHaveLength(1);
    expect(typesOf(all).filter((type) => TERMINAL.has(type))).toEqual(["run.completed"]);
    expect(back.events.filter(({ event }) => event === "caught_up").length).toBeLessThanOrEqual(1);
    const fresh = await (await thread.stream(runId)).toEnd();
    expect(typesOf(fresh)).toEqual(typesOf(all));
    expect(typesOf(all).filter((type) => type.startsWith("model."))).toEqual([
      "model.requested",
      "model.interrupted",
      "model.requested",
      "model.answered",
    ]);
    expect((await thread.of("model.answered")).map(({ header }) => header.costKind)).toEqual([
      "recovery",
    ]);
    expect(await thread.ended(runId)).toMatchObject({ finish: "stop", text: "whole" });
    expect(await thread.chainFault()).toBeNull();
  });
});

describe("a crash again and again", () => {
  it("[K15] three attempts that did not survive, with nothing finished between, end the run with a reason", async () => {
    const model = new StrictModel(() => HALF);
    const { thread, stored } = start("again", model);
    const runId = await thread.send("hi");
    for (let crash = 1; crash <= 3; crash += 1) {
      await until(() => model.requests.length === crash);
      if (crash < 3) await abortAllDurableObjects();
      else await crashAndWait(stored);
    }
    expect(await thread.ended(runId)).toMatchObject({
      status: "failed",
      reason: "recovery_exhausted",
    });
    expect(model.requests).toHaveLength(3);
    expect(await thread.of("model.interrupted")).toHaveLength(3);
  });
});

describe("a crash between an outcome and the next step", () => {
  it("[G5][G9] neither the answer nor the tool is repeated", async () => {
    // Places of the second step's model call: its intent is not written yet.
    const parking = new ParkingHooks(13);
    const { thread, stored, model, outside } = scenario("between", parking);
    const runId = await thread.send("act");
    await until(() => parking.parked !== null);
    expect(parking.parked).toBe("policy model");
    expect(outside).toHaveLength(1);
    await crashAndWait(stored);
    expect(await thread.ended(runId)).toMatchObject({ status: "completed", text: "done" });
    expect(outside).toHaveLength(1);
    expect(model.requests).toHaveLength(2);
    expect(await thread.of("model.interrupted")).toHaveLength(0);
  });
});

describe("a crash in a tool", () => {
  const variants = [
    { effect: "read", happened: true, calls: 2, checks: 0, output: "acted again" },
    { effect: "idempotent", happened: true, calls: 2, checks: 0, output: "acted again" },
    { effect: "reconcile", happened: true, calls: 1, checks: 1, output: "it had happened" },
    { effect: "reconcile", happened: false, calls: 2, checks: 1, output: "acted again" },
    { effect: "once", happened: true, calls: 1, checks: 0, output: "The process stopped" },
  ] as const;

  it("[G5][G6][G7][G8][G9] each effect recovers as declared, under one key, with no answer bought twice", async () => {
    const live = variants.map((variant) => {
      const outside = new Outside(variant.happened);
      const model = new StrictModel([ask(["act"]), say("done")]);
      const name = `in-${variant.effect}-${variant.happened}`;
      return { variant, outside, model, ...start(name, model, [outside.tool(variant.effect)]) };
    });
    const runIds = await Promise.all(live.map(({ thread }) => thread.send("act")));
    await until(() => live.every(({ outside }) => outside.calls === 1));
    // One crash takes them all, and each goes on by its own alarm.
    await crashAndWait(...live.map(({ stored }) => stored));
    for (const [index, { variant, outside, model, thread }] of live.entries()) {
      const which = `${variant.effect}, happened: ${variant.happened}`;
      expect(outside.calls, which).toBe(variant.calls);
      expect(outside.checks, which).toHaveLength(variant.checks);
      expect(new Set([...outside.keys, ...outside.checks]).size, which).toBe(1);
      expect(model.requests, which).toHaveLength(2);
      const output = expect.stringContaining(variant.output) as string;
      expect(lastResults(model.requests[1]), which).toMatchObject([{ output }]);
      expect(await thread.ended(runIds[index] ?? ""), which).toMatchObject({ finish: "stop" });
      expect(await thread.of("model.answered"), which).toHaveLength(2);
      expect(await thread.of("tool.finished"), which).toHaveLength(1);
      expect(model.rejections, which).toEqual([]);
    }
  });
});

/** One tool call and an answer, with a place to die before, in and after each effect. */
function scenario(name: string, parking: ParkingHooks) {
  const outside: string[] = [];
  const act = defineTool({
    name: "act",
    description: "Acts.",
    version: "1",
    input: z.object({}),
    effect: "idempotent",
    execute: async (_, { idempotencyKey }) => {
      await parking.point("tool begins");
      outside.push(idempotencyKey);
      await parking.point("tool has acted");
      return "acted";
    },
  });
  const model = new StrictModel([[{ text: "I act. " }, ...ask(["act"])], say("done")]);
  lab.hooks = parking.hooks();
  return { ...start(name, model, [act]), model, outside };
}

describe("a crash at every place of a run", () => {
  it("[G1][G5][G7][K7] whatever place it is, the run ends with one outcome per intent, one key and no answer twice", async () => {
    const dry = new ParkingHooks();
    await scenario("everywhere-0", dry).thread.ask("act");
    expect(dry.passed.length).toBeGreaterThanOrEqual(17);
    const places: string[] = [];
    for (let place = 1; place <= dry.passed.length; place += 1) {
      const parking = new ParkingHooks(place);
      const { thread, model, outside } = scenario(`everywhere-${place}`, parking);
      const runId = await thread.send("act");
      await until(() => parking.parked !== null);
      places.push(parking.parked ?? "");
      await abortAllDurableObjects();
      const where = `at ${place}: ${parking.parked}`;
      expect(await thread.ended(runId), where).toMatchObject({
        status: "completed",
        text: "done",
        steps: 2,
      });
      expect(new Set(outside).size, where).toBe(1);
      expect(await thread.of("model.answered"), where).toHaveLength(2);
      expect(model.requests.length, where).toBeLessThanOrEqual(3);
      const events = await thread.events();
      const intents = events.filter(
        ({ header: { type } }) => type === "model.requested" || type === "tool.started",
      );
      const causes = events.flatMap(({ header }) => (header.cause === null ? [] : [header.cause]));
      expect(causes.toSorted(), where).toEqual(intents.map(({ header }) => header.id).toSorted());
      expect(await thread.of("tool.finished"), where).toHaveLength(1);
      expect(model.rejections, where).toEqual([]);
      expect(await thread.chainFault(), where).toBeNull();
    }
    expect(places).toEqual(dry.passed);
  });
});

describe("an idle thread", () => {
  it("[L10][Z7] was registered before it was acknowledged, tells the directory how far it came, and then has no alarm", async () => {
    const { thread, stored } = start("idle", new StrictModel([say("hello")]));
    const runId = await thread.send("hi");
    expect(await stored.lastSeq()).not.toBeNull();
    const { endSeq } = await thread.ended(runId);
    await api.until(async () => ((await stored.lastSeq()) === endSeq ? true : null));
    await api.until(async () => ((await stored.alarm()) === null ? true : null));
    const cursors = await stored.within(({ storage }) =>
      storage.sql.exec<{ seq: number }>("SELECT seq FROM outbox_cursors").toArray(),
    );
    expect(cursors.length).toBeGreaterThan(0);
    expect(cursors.every(({ seq }) => seq === endSeq)).toBe(true);
  });

  it("[P4] twenty-five cold starts that only read write no row and set no alarm", async () => {
    const { thread, stored } = start("cold", new StrictModel([say("hello")]));
    await thread.ask("hi");
    await api.until(async () => ((await stored.alarm()) === null ? true : null));
    const rows = await stored.rows();
    const events = await thread.events();
    for (let wake = 0; wake < 25; wake += 1) {
      await abortAllDurableObjects();
      expect((await api.json("GET", thread.path)).status).toBe(200);
    }
    expect(await thread.events()).toEqual(events);
    expect(await stored.rows()).toEqual(rows);
    expect(await stored.alarm()).toBeNull();
  });
});
