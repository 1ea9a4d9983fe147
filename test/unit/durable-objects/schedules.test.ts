/** Schedules of one thread over time: how often each fires, and what keeps it from firing. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { MAX_FIRINGS_PER_DAY, MAX_SCHEDULES } from "#kernel/schedules.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { decide } from "#kernel/decide.ts";
import { toDay } from "#kernel/utc-day.ts";
import "#test/support/property-seed.ts";
import { ask, say, ScriptModel } from "#test/support/scripted-model.ts";
import { Timetable } from "#test/support/timetable.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const every = (seconds: number) => ({ type: "every", seconds }) as const;
const TICK = { tick: { everySeconds: 60, text: "tick" } };

describe("a schedule that is declared", () => {
  it("B13 [P120] [P122] [P125] is one row after 25 starts and 200 crashes, fires once a minute without drift, and once for half an hour away", async () => {
    const table = new Timetable(TICK);
    for (let start = 0; start < 25; start += 1) table.crash();
    const first = table.of("tick").nextAt;
    expect(first).toBe(table.now + MINUTE);
    for (let crash = 0; crash < 200; crash += 1) {
      // Some die before they fire, some right behind it.
      table.thread.clock.advance(1_500);
      if (crash % 3 === 0) await table.wake();
      table.crash();
    }
    await table.wake();
    const whileCrashing = table.fired().length;
    expect(whileCrashing).toBeLessThanOrEqual(5);

    table.thread.clock.advance(30 * MINUTE);
    await table.wake();
    expect(table.fired()).toHaveLength(whileCrashing + 1);

    const from = table.of("tick").nextAt;
    expect((from - first) % MINUTE).toBe(0);
    expect(from - table.now).toBeLessThanOrEqual(MINUTE);
    for (let tick = 0; tick < 100; tick += 1) {
      // Each comes a little late, as alarms do.
      table.thread.clock.set((table.next ?? 0) + 900);
      await table.wake();
    }
    const due = table.fired().slice(whileCrashing + 1);
    expect(due).toEqual(Array.from({ length: 100 }, (_, index) => [from + index * MINUTE, null]));
    expect(table.thread.of("schedule.declared")).toHaveLength(1);
    expect(table.schedules).toHaveLength(1);
    expect(table.thread.of("run.started")).toHaveLength(table.fired().length);
    expect(table.model.requests).toHaveLength(table.fired().length);
    expect(table.thread.chainFault()).toBeNull();
  });

  it("[P127] is changed, dropped and taken over from a person by a deploy; what stays the same writes nothing", () => {
    const table = new Timetable(TICK);
    table.set("mine", every(600));
    expect(table.set("tick", every(61))).toMatchObject({ error: { reason: "schedule_declared" } });
    expect(table.drop("tick")).toMatchObject({ error: { reason: "schedule_declared" } });
    const before = table.thread.events().length;
    table.deploy(TICK);
    expect(table.thread.events()).toHaveLength(before);
    table.deploy({
      tick: { ...TICK.tick, text: "tock" },
      mine: { everySeconds: 900, text: "ours" },
    });
    expect(table.of("tick")).toMatchObject({ text: "tock" });
    expect(table.of("mine")).toMatchObject({ text: "ours", declared: true });
    table.deploy();
    expect(table.schedules).toEqual([]);
  });

  it("[P127] of a thread that is not main none is declared", () => {
    expect(new Timetable(TICK, { thread: "other" }).schedules).toEqual([]);
  });
});

describe("a firing", () => {
  it("[P121] happens once for each due time, whoever dies where, and its run with it", async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 5 * MINUTE }) }),
      fc.record({ do: fc.constantFrom("fire" as const, "crash" as const, "work" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const table = new Timetable(TICK);
        table.set("often", every(90), { overlap: "queue" });
        table.set("soon", { type: "once", at: table.now + 2 * MINUTE });
        for (const step of steps) {
          if (step.do === "pass") table.thread.clock.advance(step.ms);
          else if (step.do === "crash") table.crash();
          else if (step.do === "fire") await table.fire();
          else await table.thread.finish();
        }
        await table.wake();
        await table.wake();
        const fired = table.thread.of("schedule.fired");
        const ids = fired.map(({ payload }) => `${payload?.of} ${payload?.dueAt}`);
        expect(new Set(ids).size).toBe(ids.length);
        const runs = fired.filter(({ payload }) => payload?.skipped === null);
        const begun = new Set(table.thread.of("run.completed").map(({ header }) => header.run));
        expect(runs.map(({ header }) => header.run).toSorted()).toEqual([...begun].toSorted());
        expect(table.thread.of("input.received")).toHaveLength(runs.length);
        // Recorded times are what was promised: no firing before its time, none left behind.
        expect(fired.every(({ header, payload }) => header.at >= (payload?.dueAt ?? 0))).toBe(true);
        expect(table.next ?? Infinity).toBeGreaterThan(table.now);
      }),
      { numRuns: 40 },
    );
  });

  it("[P121] is one append with its message and its run, of the recorded time alone: decided again, or of one that rests, it is nothing", async () => {
    const table = new Timetable();
    table.set("job", every(60));
    table.thread.clock.set(table.next ?? 0);
    const firing = table.firing("job", table.now);
    const decided = () => {
      const context = { actor: "", idempotencyKey: null, bodyDigest: "" };
      const decision = decide(table.thread.runtime.state, firing, context);
      return decision.ok ? decision.value.drafts.map(({ type }) => type) : decision.error;
    };
    const begun = ["schedule.fired", "definition.pinned", "input.received", "run.started"];
    expect(decided()).toEqual(begun);
    table.hold("job", true, table.now);
    expect(decided()).toEqual([]);
    table.hold("job", false, table.now);
    expect(decided()).toEqual(begun);
    await table.wake();
    // Of a process that did not hear that it has fired.
    expect(decided()).toEqual([]);
    expect(table.fired()).toEqual([[table.now, null]]);
  });

  it("[P122] comes at the local times of its zone, and the same words in another zone are another rule", async () => {
    const table = new Timetable();
    const daily = (timeZone: string) =>
      ({ type: "cron", expression: "30 7 * * *", timeZone }) as const;
    const next = () => new Date(table.of("job").nextAt).toISOString();
    table.set("job", daily("Europe/Berlin"));
    expect(next()).toBe("2023-11-15T06:30:00.000Z");
    await table.tick();
    expect(next()).toBe("2023-11-16T06:30:00.000Z");
    table.set("job", daily("Asia/Tokyo"));
    expect(next()).toBe("2023-11-15T22:30:00.000Z");
    await table.tick();
    expect(next()).toBe("2023-11-16T22:30:00.000Z");
  });

  it("[P121] asked for by hand leaves the timetable as it is, and is refused while its run is open", async () => {
    const table = new Timetable();
    table.set("job", every(3_600));
    const { nextAt } = table.of("job");
    expect(table.ask("job")).toMatchObject({ ok: true, value: { disposition: "started" } });
    expect(table.ask("job")).toMatchObject({ error: { reason: "run_active" } });
    expect(table.of("job")).toMatchObject({ nextAt });
    await table.thread.finish();
    await table.tick();
    expect(table.fired().map(([at]) => at)).toEqual([nextAt - HOUR, nextAt]);
  });

  it("[P122] at a single time happens once, and the schedule is gone; the same time again is past", async () => {
    const table = new Timetable();
    const at = table.now + 90_000;
    expect(table.set("once", { type: "once", at })).toMatchObject({ ok: true });
    await table.tick();
    expect(table.schedules).toEqual([]);
    expect(table.next).toBeNull();
    expect(table.set("once", { type: "once", at })).toEqual({
      ok: false,
      error: "this time has passed already",
    });
    expect(table.thread.of("run.completed")).toHaveLength(1);
  });

  it("[P122] set again as it is it keeps its next time and writes nothing; other words keep the time, another rule does not", () => {
    const table = new Timetable();
    table.set("job", every(600));
    const { nextAt } = table.of("job");
    table.thread.clock.advance(MINUTE);
    expect(table.set("job", every(600))).toMatchObject({ value: { disposition: "unchanged" } });
    expect(table.thread.of("schedule.set")).toHaveLength(1);
    table.set("job", every(600), { text: "do it well" });
    expect(table.of("job")).toMatchObject({ nextAt, text: "do it well" });
    table.set("job", every(300));
    expect(table.of("job")).toMatchObject({ nextAt: table.now + 5 * MINUTE });
  });
});

describe("while the run before is open", () => {
  it("[P124] `skip` leaves out what came due meanwhile, as one record, and is on time again", async () => {
    const table = new Timetable();
    table.set("job", every(60));
    table.thread.clock.set(table.next ?? 0);
    await table.fire();
    const [first] = table.fired();
    table.thread.clock.advance(10 * MINUTE);
    // The run is open: nothing is due, and nothing is written.
    expect(table.next).toBeNull();
    await table.fire();
    expect(table.fired()).toEqual([first]);
    await table.thread.finish();
    await table.fire();
    expect(table.fired()).toEqual([first, [(first?.[0] ?? 0) + MINUTE, "overlap"]]);
    await table.tick();
    expect(table.fired().at(-1)).toEqual([table.now, null]);
    expect((table.now - (first?.[0] ?? 0)) % MINUTE).toBe(0);
  });

  it("[P124] `queue` lets one firing wait, however many come due", async () => {
    const table = new Timetable();
    table.set("job", every(60), { overlap: "queue" });
    table.thread.clock.set(table.next ?? 0);
    await table.fire();
    for (let minute = 0; minute < 10; minute += 1) {
      table.thread.clock.advance(MINUTE);
      await table.fire();
    }
    expect(table.thread.runtime.state.queue).toHaveLength(1);
    expect(table.fired()).toHaveLength(2);
    await table.thread.finish();
    expect(table.thread.of("run.completed")).toHaveLength(2);
  });

  it("[P124] a run that waits for a person keeps its question: no timetable takes it back", async () => {
    const act = defineTool({
      name: "act",
      description: "Acts.",
      version: "1",
      input: z.object({}),
      effect: "once",
      approval: "always",
      execute: () => "acted",
    });
    const model = new ScriptModel([ask(["act"]), say("done"), say("ticked")], { by: "call" });
    const table = new Timetable(undefined, { tools: [act], model });
    table.set("job", every(60));
    table.thread.send("act");
    await table.thread.runtime.drive();
    const open = table.thread.openApprovals();
    expect(open).toHaveLength(1);
    table.thread.clock.set(table.next ?? 0);
    await table.fire();
    expect(table.thread.openApprovals()).toEqual(open);
    table.thread.decide(open[0] ?? "", "approve");
    await table.thread.finish();
    expect(table.thread.of("run.completed").map(({ payload }) => payload?.text)).toEqual([
      "done",
      "ticked",
    ]);
  });
});

describe("what keeps a schedule from firing", () => {
  it("[P129] a halt: nothing fires until the resume, and then once", async () => {
    const table = new Timetable();
    table.set("job", every(60));
    table.thread.halt();
    table.thread.clock.advance(HOUR);
    expect(table.next).toBeNull();
    await table.wake();
    expect(table.ask("job")).toMatchObject({ error: { reason: "thread_halted" } });
    expect(table.fired()).toEqual([]);
    table.thread.resume();
    await table.wake();
    await table.wake();
    expect(table.fired()).toHaveLength(1);
  });

  it("[P125] a pause: what was due meanwhile is not made up for", async () => {
    const table = new Timetable();
    table.set("job", every(60));
    const { nextAt } = table.of("job");
    table.hold("job", true, nextAt);
    table.thread.clock.advance(HOUR);
    await table.wake();
    table.crash();
    table.hold("job", false, nextAt + HOUR);
    await table.wake();
    expect(table.fired()).toEqual([]);
    await table.tick();
    expect(table.fired()).toEqual([[nextAt + HOUR, null]]);
  });

  it("[P129] an agent that is not deployed: the time is recorded as left out, and the next one is ahead", async () => {
    const table = new Timetable();
    table.set("job", every(60));
    table.definition = null;
    await table.tick();
    expect(table.fired()).toMatchObject([[table.now, "definition_unavailable"]]);
    expect(table.next).toBe(table.now + MINUTE);
    expect(table.ask("job")).toMatchObject({ ok: false });
  });

  it("[P129] an erasure of the thread: what a person set is gone, what the agent declares rests, and stays so when folded again", () => {
    const table = new Timetable(TICK);
    table.set("mine", every(600), { text: "about a person" });
    const context = { actor: "usr_1", idempotencyKey: null, bodyDigest: "" };
    const submit = table.thread.runtime.submit.bind(table.thread.runtime);
    expect(submit({ type: "request_erasure", runId: null, origin: null }, context).ok).toBe(true);
    expect(table.next).toBeNull();
    const [rest, ...others] = table.schedules;
    expect([rest, others]).toMatchObject([{ scheduleId: "tick", paused: true }, []]);
    const state = table.thread.runtime.state;
    const set = table.thread.of("schedule.set").map(({ header }) => header.seq);
    table.thread.runtime.erase(set);
    expect(table.thread.runtime.state.schedules).toEqual(state.schedules);
    expect(JSON.stringify(table.thread.events())).not.toContain("about a person");
  });
});

describe("limits", () => {
  it("[P128] 20 schedules of a thread, a minute between firings, ten years ahead, words of 4,000 characters", () => {
    const table = new Timetable();
    for (let count = 0; count < MAX_SCHEDULES; count += 1) table.set(`job-${count}`, every(60));
    expect(table.set("more", every(60))).toMatchObject({ error: { reason: "schedules_full" } });
    expect(table.set("job-0", every(61))).toMatchObject({ ok: true });
    const wrong = [
      table.set("job-1", every(59)),
      table.set("job-1", every(60.5)),
      table.set("job-1", { type: "once", at: table.now }),
      table.set("job-1", { type: "once", at: table.now + 4_000 * 24 * HOUR }),
      table.set("job-1", { type: "cron", expression: "* * * *", timeZone: "UTC" }),
      table.set("job-1", every(60), { text: " " }),
      table.set("job-1", every(60), { text: "x".repeat(4_001) }),
    ];
    for (const result of wrong)
      expect(result).toMatchObject({ ok: false, error: expect.any(String) });
    expect(table.thread.of("schedule.set")).toHaveLength(MAX_SCHEDULES + 1);
  });

  it("[P128] a day (UTC) has as many runs as one each minute, and some; the rest of it is left out", async () => {
    const table = new Timetable();
    table.set("job", every(60));
    await table.tick();
    const { state } = table.thread.runtime;
    expect(state.firings).toEqual({ day: toDay(table.now), count: 1 });
    const full = { ...state, firings: { ...state.firings, count: MAX_FIRINGS_PER_DAY } };
    const decided = (now: number) => {
      const command = table.firing("job", now);
      const decision = decide(full, command, { actor: "", idempotencyKey: null, bodyDigest: "" });
      return decision.ok ? decision.value.drafts.map(({ type }) => type) : decision.error;
    };
    expect(decided(table.now)).toEqual(["schedule.fired"]);
    expect(decided(table.now + 24 * HOUR)).toContain("run.started");
  });
});

it("[P120] a snapshot holds the schedules: a start folds nothing again", async () => {
  const table = new Timetable();
  table.set("job", every(60));
  await table.tick();
  const { state } = table.thread.runtime;
  table.thread.runtime.saveSnapshot();
  table.crash();
  expect(table.thread.runtime.state.schedules).toEqual(state.schedules);
  expect(table.thread.runtime.state.firings).toEqual(state.firings);
});
