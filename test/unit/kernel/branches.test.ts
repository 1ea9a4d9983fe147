/** Interruption and branches: what the next prompt holds, and what of the log a branch holds. */
import { describe, expect, test } from "vitest";
import { rebuildPrompt } from "#audit/rebuild-prompt.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { LogCorruption } from "#kernel/log-corruption.ts";
import { BranchDriver, logOf } from "#test/support/branch-driver.ts";
import { KernelDriver, nodeHasher } from "#test/support/kernel-driver.ts";
import { MANIFEST } from "#test/support/kernel-fixture.ts";
import { type Branched, prompt, shown, value, reason } from "#test/support/branch-texts.ts";

const start = (): Branched => {
  const driver = new KernelDriver().create();
  return { driver, branches: new BranchDriver(driver, logOf(driver)) };
};

function turn(driver: KernelDriver, text: string, answer: string): void {
  driver.send(text, { messageId: `m-${text}` });
  reply(driver, answer);
}

function reply(driver: KernelDriver, answer: string): void {
  driver.pumpAll();
  driver.answer({ text: answer });
  driver.pumpAll();
}

describe("a message that interrupts", () => {
  test("[K40] ends the live run as cancelled, with one result for each of its calls, and starts at once", () => {
    const { driver } = start();
    const first = value(driver.send("pay both"));
    driver.pumpAll();
    driver.answer({ calls: [{ name: "pay" }, { name: "look" }] });
    driver.pumpAll();
    driver.finishTool({
      callId: driver.flights[1]?.effect.type === "call_tool" ? driver.flights[1].effect.callId : "",
    });
    const second = value(driver.send("stop that", { delivery: "interrupt" }));
    expect(second.disposition).toBe("started");
    expect(driver.state.run?.runId).toBe(second.runId);
    expect(driver.last("run.cancelled").header.run).toBe(first.runId);
    expect(driver.last("run.cancelled").payload?.reason).toBe("interrupted");
    driver.pumpAll();
    expect(prompt(driver)).toEqual([
      "pay both",
      "call pay",
      "call look",
      expect.stringContaining("not known"),
      "fine",
      "stop that",
    ]);
    expect(driver.types().filter((type) => type === "tool.finished")).toHaveLength(2);
  });

  test("[K40] goes before messages that wait, and loses none of them", () => {
    const { driver } = start();
    driver.send("one");
    driver.pumpAll();
    driver.send("two");
    driver.send("three");
    driver.send("steered", { delivery: "steer" });
    const urgent = value(driver.send("now", { delivery: "interrupt" }));
    expect(driver.state.run?.runId).toBe(urgent.runId);
    reply(driver, "at once");
    reply(driver, "2");
    reply(driver, "3");
    expect(driver.state.run).toBeNull();
    expect(prompt(driver)).toEqual(["one", "steered", "now", "at once", "two", "2", "three"]);
  });

  test("[K40] is taken when the queue is full, for it waits for nothing", () => {
    const { driver } = start();
    for (let i = 0; i <= MANIFEST.limits.maxQueuedInputs; i += 1) driver.send(`m${i}`);
    expect(reason(driver.send("one more"))).toBe("queue_full");
    expect(value(driver.send("now", { delivery: "interrupt" })).disposition).toBe("started");
  });

  test("[K14] [K40] no other message goes before those that wait", () => {
    const { driver } = start();
    for (const text of ["one", "two", "three", "four"]) driver.send(text);
    driver.pumpAll();
    driver.answer({ text: "1" });
    const [ends] = driver.effects();
    if (ends?.type !== "complete_run") throw new Error("the run ends");
    driver.append([
      {
        type: "run.completed",
        payload: { finish: "stop", text: "1", output: null },
        scope: { run: ends.runId, definition: ends.definition },
      },
    ]);
    const [, middle] = driver.state.queue;
    const scope = { run: middle?.runId ?? null, definition: middle?.definition ?? null };
    const payload = { inputs: [middle?.seq ?? 0] };
    expect(() => driver.append([{ type: "run.started", payload, scope }])).toThrow(/input_unknown/);
  });

  test("[K40] to an idle thread starts its run and cancels nothing", () => {
    const { driver } = start();
    expect(value(driver.send("hi", { delivery: "interrupt" })).disposition).toBe("started");
    expect(driver.types()).not.toContain("run.cancelled");
  });
});

describe("another answer", () => {
  test("[K41] begins at the same input with the window it had, and supersedes what came after", () => {
    const here = start();
    const { driver, branches } = here;
    turn(driver, "one", "1");
    turn(driver, "two", "2");
    turn(driver, "three", "3");
    const answer = driver.events.filter((event) => event.type === "model.answered")[1];
    const receipt = value(branches.regenerate(answer?.header.id ?? ""));
    expect(receipt).toMatchObject({ disposition: "started", messageId: "m-two" });
    reply(driver, "2 again");
    expect(prompt(driver)).toEqual(["one", "1", "two"]);
    turn(driver, "four", "4");
    expect(prompt(driver)).toEqual(["one", "1", "two", "2 again", "four"]);
    expect(shown(here, receipt.branch ?? "")).toEqual(["one", "1", "two", "2 again", "four", "4"]);
    expect(shown(here, "main")).toEqual(["one", "1", "two", "2", "three", "3"]);
    expect(driver.types().filter((type) => type === "input.received")).toHaveLength(4);
  });

  test("[K41] by the id of the message, of its answer, or of none: the newest", () => {
    for (const pick of ["m-two", "answer", null]) {
      const { driver, branches } = start();
      turn(driver, "one", "1");
      turn(driver, "two", "2");
      const id = pick === "answer" ? driver.last("model.answered").header.id : pick;
      value(branches.regenerate(id));
      driver.pumpAll();
      expect(prompt(driver)).toEqual(["one", "1", "two"]);
    }
  });

  test("[K41] again and again gives siblings of one parent", () => {
    const here = start();
    const { driver, branches } = here;
    turn(driver, "one", "1");
    for (const answer of ["1b", "1c"]) {
      value(branches.regenerate());
      reply(driver, answer);
      expect(prompt(driver)).toEqual(["one"]);
    }
    const list = branches.history.list(driver.state);
    expect(list.map(({ parent }) => parent)).toEqual([null, "main", "main"]);
    expect(list.map(({ branch }) => shown(here, branch))).toEqual([
      ["one", "1"],
      ["one", "1b"],
      ["one", "1c"],
    ]);
  });

  test("[K41] after a message that steered answers that one again, behind the step it joined", () => {
    const { driver, branches } = start();
    driver.send("look");
    driver.pumpAll();
    driver.send("and be quick", { delivery: "steer" });
    driver.answer({ calls: [{ name: "look" }] });
    driver.pumpAll();
    driver.finishTool();
    reply(driver, "done");
    value(branches.regenerate());
    driver.pumpAll();
    expect(prompt(driver)).toEqual(["look", "call look", "fine", "and be quick"]);
  });

  test("[K41] of a run that was cancelled before its first request", () => {
    const { driver, branches } = start();
    turn(driver, "one", "1");
    const sent = value(driver.send("two"));
    driver.cancel(sent.runId ?? "");
    value(branches.regenerate(sent.messageId));
    driver.pumpAll();
    expect(prompt(driver)).toEqual(["one", "1", "two"]);
  });

  test("[K41] brings the plan of that time, not the one that came later", () => {
    const { driver, branches } = start();
    const plan = (text: string): void => {
      driver.pumpAll();
      driver.answer({ calls: [{ name: "look" }] });
      driver.pumpAll();
      driver.finishTool({ plan: [{ text, status: "active" }] });
      reply(driver, "ok");
    };
    driver.send("plan");
    plan("first");
    driver.send("change it");
    plan("second");
    value(branches.regenerate());
    driver.pumpAll();
    expect(driver.state.plan).toEqual([{ text: "first", status: "active" }]);
    expect(prompt(driver).filter((text) => text.includes("Your plan"))).toEqual([
      expect.stringContaining("first"),
    ]);
    expect(prompt(driver).at(-1)).toBe("change it");
  });

  test("[K41] of a message that nobody knows, or whose text was erased, is refused", () => {
    const { driver, branches } = start();
    expect(reason(branches.regenerate())).toBe("message_unknown");
    turn(driver, "one", "1");
    expect(reason(branches.regenerate("nobody"))).toBe("message_unknown");
    const index = driver.events.findIndex((event) => event.type === "input.received");
    const event = driver.events[index];
    if (event !== undefined) driver.events[index] = { ...event, payload: null };
    expect(reason(branches.regenerate())).toBe("message_unknown");
  });
});

describe("another text", () => {
  test("[K42] takes the place of the message; what came after it is superseded", () => {
    const here = start();
    const { driver, branches } = here;
    turn(driver, "one", "1");
    turn(driver, "two", "2");
    const receipt = value(branches.edit("m-two", "zwei"));
    reply(driver, "2b");
    expect(prompt(driver)).toEqual(["one", "1", "zwei"]);
    expect(shown(here, receipt.branch ?? "")).toEqual(["one", "1", "zwei", "2b"]);
    expect(shown(here, "main")).toEqual(["one", "1", "two", "2"]);
  });

  test("[K42] leaves out messages that waited when the edited one was answered", () => {
    const here = start();
    const { driver, branches } = here;
    driver.send("one", { messageId: "m-one" });
    driver.send("two", { messageId: "m-two" });
    driver.send("three", { messageId: "m-three" });
    reply(driver, "1");
    reply(driver, "2");
    reply(driver, "3");
    const receipt = value(branches.edit("m-two", "zwei"));
    reply(driver, "2b");
    expect(prompt(driver)).toEqual(["one", "1", "zwei"]);
    expect(shown(here, receipt.branch ?? "")).toEqual(["one", "1", "zwei", "2b"]);
  });

  test("[K42] that is blank is refused", () => {
    const { driver, branches } = start();
    turn(driver, "one", "1");
    expect(reason(branches.edit("m-one", "  "))).toBe("message_empty");
    expect(driver.state.branch.id).toBe("main");
  });

  test("[K42] reaches a message that has been trimmed from the window", () => {
    const driver = new KernelDriver({ contextTokens: 900 }).create();
    const branches = new BranchDriver(driver, logOf(driver));
    for (let i = 0; i < 30; i += 1) turn(driver, `q${i} ${"words ".repeat(40)}`, `a${i}`);
    expect(prompt(driver)[0]).not.toMatch(/^q5 /);
    value(branches.edit(`m-q5 ${"words ".repeat(40)}`, "new five"));
    driver.pumpAll();
    expect(prompt(driver).at(-1)).toBe("new five");
    expect(prompt(driver).at(-2)).toBe("a4");
    expect(prompt(driver)[0]).toMatch(/^q\d /);
  });
});

describe("an empty window", () => {
  test("[K43] puts nothing before it into a later prompt; log and shared state stay", () => {
    const here = start();
    const { driver, branches } = here;
    driver.command({ type: "set_state", state: { kept: true }, bytes: 13 });
    turn(driver, "one", "1");
    const before = driver.events.length;
    const receipt = value(branches.clear());
    expect(receipt).toMatchObject({ disposition: "recorded", runId: null });
    turn(driver, "two", "2");
    expect(prompt(driver)).toEqual(["two"]);
    expect(shown(here, receipt.branch ?? "")).toEqual(["two", "2"]);
    expect(driver.state.shared).toEqual({ kept: true });
    expect(driver.events.length).toBeGreaterThan(before);
    expect(shown(here, "main")).toEqual(["one", "1"]);
  });
});

describe("a branch chosen again", () => {
  test("[K44] goes on with the window and the plan it was left with", () => {
    const here = start();
    const { driver, branches } = here;
    driver.send("plan");
    driver.pumpAll();
    driver.answer({ calls: [{ name: "look" }] });
    driver.pumpAll();
    driver.finishTool({ plan: [{ text: "keep me", status: "active" }] });
    reply(driver, "planned");
    const left = driver.state.window.filter((entry) => entry.ref[0] !== driver.state.planSeq);
    value(branches.clear());
    turn(driver, "elsewhere", "e");
    expect(driver.state.plan).toEqual([]);
    value(branches.select("main"));
    expect(driver.state.branch.id).toBe("main");
    expect(driver.state.window.slice(0, -1)).toEqual(left);
    expect(driver.state.plan).toEqual([{ text: "keep me", status: "active" }]);
    turn(driver, "and on", "on");
    expect(prompt(driver)).toContain("planned");
    expect(prompt(driver)).not.toContain("elsewhere");
    expect(shown(here, "main")).toEqual(["plan", "planned", "and on", "on"]);
  });

  test("[K44] the active one again changes nothing; none is chosen, begun or cleared while a run is live", () => {
    const { driver, branches } = start();
    turn(driver, "one", "1");
    expect(value(branches.select("main")).disposition).toBe("unchanged");
    value(branches.clear());
    driver.send("two");
    driver.pumpAll();
    const { length } = driver.events;
    for (const refused of [
      branches.regenerate(),
      branches.edit("m-one", "x"),
      branches.clear(),
      branches.select("main"),
    ])
      expect(reason(refused)).toBe("run_active");
    expect(driver.events).toHaveLength(length);
  });

  test("[K45] state does not grow with branches: 300 of them", () => {
    const { driver, branches } = start();
    turn(driver, "one", "1");
    value(branches.clear());
    const size = (): number => JSON.stringify(THREAD_FOLD.dump(driver.state)).length;
    turn(driver, "two", "2");
    const early = size();
    for (let i = 0; i < 300; i += 1) {
      value(branches.clear());
      turn(driver, "two", "2");
    }
    expect(size()).toBeLessThan(early + 100);
    expect(branches.names()).toHaveLength(302);
    value(branches.select("main"));
    driver.send("still there?");
    driver.pumpAll();
    expect(prompt(driver)).toEqual(["one", "1", "still there?"]);
  });

  test("[K11] prompts of every branch are rebuilt from the log alone", () => {
    const { driver, branches } = start();
    turn(driver, "one", "1");
    turn(driver, "two", "2");
    value(branches.regenerate("m-one"));
    reply(driver, "1b");
    value(branches.edit("m-one", "eins"));
    reply(driver, "1c");
    value(branches.select("main"));
    turn(driver, "three", "3");
    expect(driver.prompts).toHaveLength(5);
    for (const { seq, messages } of driver.prompts) {
      const rebuilt = rebuildPrompt(logOf(driver), nodeHasher, seq);
      expect(rebuilt.ok && rebuilt.value.intact).toBe(true);
      expect(rebuilt.ok && rebuilt.value.request.messages).toEqual(messages);
    }
  });

  test("[K14] a change of branch that does not follow the one before is corruption", () => {
    const { driver, branches } = start();
    turn(driver, "one", "1");
    value(branches.clear());
    const event = driver.last("branch.started");
    const { seq } = driver.state;
    const forged = { ...event, header: { ...event.header, seq: seq + 1 } };
    expect(() => THREAD_FOLD.evolve(driver.state, forged)).toThrow(LogCorruption);
    if (event.payload === null) throw new Error("a branch event keeps its payload");
    const other = { ...forged, payload: { ...event.payload, branch: "br_other" } };
    expect(() => THREAD_FOLD.evolve(driver.state, other)).toThrow(/branch_unexpected/);
  });
});
