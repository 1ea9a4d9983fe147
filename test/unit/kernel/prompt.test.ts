import { describe, expect, test } from "vitest";
import { rebuildPrompt } from "#audit/rebuild-prompt.ts";
import { canErase, isErasable } from "#kernel/erasure.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { cutText, PromptCompiler } from "#kernel/prompt.ts";
import { shownParts } from "#kernel/prompt-text.ts";
import { KernelDriver, nodeHasher } from "#test/support/kernel-driver.ts";

const logOf = (events: readonly ThreadEvent[]) => ({
  get: (seq: number) => events[seq - 1] ?? null,
  read: ({ from = 1, to = events.length, reverse = false } = {}) => {
    const page = events.slice(from - 1, to);
    return reverse ? page.toReversed() : page;
  },
});

function oneStep(output = "found"): KernelDriver {
  const driver = new KernelDriver().create();
  driver.send("go");
  driver.pumpAll();
  driver.answer({
    text: "let me",
    reasoning: "hm",
    calls: [
      { name: "look" },
      { name: "nope", refusal: { code: "unknown_tool", message: "no" }, argsText: "{oops" },
    ],
  });
  driver.pumpAll();
  driver.finishTool({ output });
  driver.pumpAll();
  return driver;
}
const erase = (event: ThreadEvent): ThreadEvent => ({ ...event, payload: null });

describe("a compiled prompt", () => {
  test("[K7] lists results in call order after their call, refused ones too", () => {
    const [ask, assistant, found, refused] = oneStep().prompts.at(-1)?.messages ?? [];
    expect(ask).toEqual({ role: "user", content: [{ type: "text", text: "go" }] });
    expect(assistant?.content.map(({ type }) => type)).toEqual([
      "reasoning",
      "text",
      "call",
      "call",
    ]);
    expect(assistant?.content.at(-1)).toMatchObject({ name: "nope", args: { _raw: "{oops" } });
    expect(found).toMatchObject({
      role: "tool",
      content: [{ name: "look", output: "found", isError: false }],
    });
    expect(refused).toMatchObject({
      role: "tool",
      content: [{ name: "nope", output: "unknown_tool: no", isError: true }],
    });
  });

  test("[K9] shows a placeholder for an empty result and leaves an empty answer out", () => {
    expect(oneStep(" \n").prompts.at(-1)?.messages[2]).toMatchObject({
      content: [{ output: "(no output)" }],
    });
    const driver = new KernelDriver().create();
    driver.send("go");
    driver.pumpAll();
    driver.answer({ reasoning: "only this" });
    driver.pumpAll();
    expect(driver.prompts.at(-1)?.messages).toHaveLength(1);
  });

  test("[K12] holds the runtime's words as events, labelled", () => {
    const driver = new KernelDriver().create();
    driver.send("go");
    driver.append([{ type: "context.added", payload: { kind: "recall", text: "likes tea" } }]);
    driver.pumpAll();
    expect(driver.prompts[0]?.messages.at(-1)).toEqual({
      role: "user",
      content: [{ type: "text", text: '<runtime-note kind="recall">\nlikes tea\n</runtime-note>' }],
    });
  });

  test("[K19] shows the newest plan once, behind the results of its step, also after a crash", () => {
    const driver = new KernelDriver().create();
    driver.send("go");
    for (const text of ["first", "second"]) {
      driver.pumpAll();
      driver.answer({ calls: [{ name: "put" }, { name: "look" }] });
      driver.pumpAll();
      driver.finishTool({ output: `${text.length} letters`, plan: [{ text, status: "active" }] });
      driver.finishTool();
    }
    driver.crash();
    driver.pumpAll();
    const messages = driver.prompts.at(-1)?.messages ?? [];
    expect(messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
      "tool",
      "tool",
      "user",
    ]);
    expect(JSON.stringify(messages.at(-1))).toContain("[>] second");
    expect(JSON.stringify(messages)).not.toContain("first");
    expect(driver.state.plan).toEqual([{ text: "second", status: "active" }]);
  });

  test("[K8] cuts on a code point and says how much is missing", () => {
    const text = `${"a".repeat(9)}\u{1F9EA}tail`;
    for (let cut = 7; cut <= 13; cut += 1) expect(cutText(text, cut).isWellFormed()).toBe(true);
    expect(cutText(text, 10)).toBe(`${"a".repeat(9)}\n[6 of 15 characters left out]`);
    expect(cutText(text, 15)).toBe(text);
    expect(cutText(text, 0)).toBe(text);
  });
});

describe("its digest", () => {
  test("[K11] is rebuilt from the recorded references alone", () => {
    const driver = oneStep();
    for (const { seq, messages } of driver.prompts) {
      const rebuilt = rebuildPrompt(logOf(driver.events), nodeHasher, seq);
      expect(rebuilt).toMatchObject({ ok: true, value: { intact: true, request: { messages } } });
    }
  });

  test("[K11] differs when one character of the past differs", () => {
    const driver = oneStep();
    const changed = driver.events.map((event): ThreadEvent => {
      if (event.type !== "input.received" || event.payload === null) return event;
      return { ...event, payload: { ...event.payload, text: "gO" } };
    });
    const seq = driver.prompts.at(-1)?.seq ?? 0;
    expect(rebuildPrompt(logOf(changed), nodeHasher, seq)).toMatchObject({
      ok: true,
      value: { intact: false },
    });
  });

  test("[K11] is refused for what is no request and for an unknown compiler", () => {
    const driver = oneStep();
    expect(rebuildPrompt(logOf(driver.events), nodeHasher, 1)).toEqual({
      ok: false,
      error: { reason: "not_a_request" },
    });
    const seq = driver.prompts[0]?.seq ?? 0;
    const newer = driver.events.map((event): ThreadEvent => {
      if (event.type !== "model.requested" || event.payload === null) return event;
      return { ...event, payload: { ...event.payload, compiler: 99 } };
    });
    expect(rebuildPrompt(logOf(newer), nodeHasher, seq)).toEqual({
      ok: false,
      error: { reason: "compiler_unknown", compiler: 99 },
    });
  });

  test("[K13] costs new messages only when a request appends", () => {
    const driver = new KernelDriver().create();
    driver.send("go");
    const reads: number[] = [];
    const compiler = new PromptCompiler(nodeHasher, (seq) => {
      reads.push(seq);
      return driver.events[seq - 1] ?? null;
    });
    const perStep: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      driver.pumpAll();
      reads.length = 0;
      const window = driver.state.lastRequest?.refs ?? [];
      const fresh = compiler.compile({
        manifest: driver.manifest,
        definition: "def1",
        output: null,
        window,
      });
      expect(fresh.digest).toBe(driver.last("model.requested").payload?.digest);
      perStep.push(reads.length);
      driver.answer({ calls: [{ name: "look" }] });
      driver.pumpAll();
      driver.finishTool({ output: `saw ${i}` });
    }
    expect(perStep).toEqual([1, 2, 2, 2, 2, 2, 2, 2]);
  });
});

describe("a compiler", () => {
  test("[K11] that met a missing event starts over, and gives the same prompt as a new one", () => {
    const driver = oneStep();
    const window = driver.state.lastRequest?.refs ?? [];
    const source = { manifest: driver.manifest, definition: "def1", output: null, window };
    let isBroken = true;
    const compiler = new PromptCompiler(nodeHasher, (seq) =>
      isBroken && seq > 5 ? null : (driver.events[seq - 1] ?? null),
    );
    expect(() => compiler.compile(source)).toThrow(TypeError);
    isBroken = false;
    const compiled = compiler.compile(source);
    expect(compiled.digest).toBe(driver.last("model.requested").payload?.digest);
    expect(compiled.request.messages).toEqual(driver.prompts.at(-1)?.messages);
  });

  test("[K11] gives what a new one gives, whatever it compiled before", () => {
    const driver = oneStep();
    const refs = driver.state.lastRequest?.refs ?? [];
    const source = { manifest: driver.manifest, definition: "def1", output: null, window: refs };
    const output = { name: "answer", schema: { type: "object" } };
    const read = (seq: number): ThreadEvent | null => driver.events[seq - 1] ?? null;
    const compiler = new PromptCompiler(nodeHasher, read);
    for (const next of [
      source,
      { ...source, window: refs.slice(1) },
      { ...source, window: refs.slice(0, 2) },
      { ...source, output },
      { ...source, output, window: [] },
      source,
    ]) {
      expect(compiler.compile(next)).toEqual(new PromptCompiler(nodeHasher, read).compile(next));
    }
  });

  test("[K9] keeps reasoning without text when it is signed, and only together with its answer", () => {
    const signed = { type: "reasoning", text: "", meta: { signature: "s" } } as const;
    expect(shownParts([signed, { type: "text", text: "hi" }])).toHaveLength(2);
    expect(
      shownParts([
        { ...signed, meta: null },
        { type: "text", text: "hi" },
      ]),
    ).toHaveLength(1);
    expect(shownParts([signed])).toEqual([]);
  });
});

describe("an erased payload", () => {
  test("[L4] is one of a run that has ended, or an input: the live run still needs the others", () => {
    const driver = oneStep();
    const at = (type: ThreadEvent["type"]) => ({ seq: driver.last(type).header.seq, type });
    expect(canErase(driver.state, at("model.answered"))).toBe(false);
    expect(canErase(driver.state, at("input.received"))).toBe(true);
    driver.answer({ text: "done" });
    driver.pumpAll();
    expect(canErase(driver.state, at("model.answered"))).toBe(true);
    expect(canErase(driver.state, at("model.requested"))).toBe(false);
  });

  test("[K8] of an answer takes its calls and their results with it", () => {
    const driver = oneStep();
    driver.answer({ text: "done" });
    driver.pumpAll();
    const events = driver.events.map((event) => (event.header.seq === 6 ? erase(event) : event));
    expect(events[5]?.type).toBe("model.answered");
    const seq = driver.prompts.at(-1)?.seq ?? 0;
    const rebuilt = rebuildPrompt(logOf(events), nodeHasher, seq);
    expect(rebuilt).toMatchObject({
      ok: true,
      value: { intact: false, request: { messages: [{ role: "user" }] } },
    });
  });

  test("[L4] of any text folds", () => {
    const driver = oneStep();
    driver.answer({ text: "done" });
    driver.pumpAll();
    expect(
      new Set(driver.types().filter((type) => !isErasable(type as ThreadEvent["type"]))),
    ).toEqual(new Set(["definition.pinned", "run.started", "model.requested"]));
    for (const target of driver.events) {
      if (!isErasable(target.type)) continue;
      const events = driver.events.map((event) => (event === target ? erase(event) : event));
      const state = events.reduce(THREAD_FOLD.evolve, THREAD_FOLD.initial());
      expect(state.run).toBeNull();
      expect(state.window.map(({ ref }) => ref)).toEqual(driver.state.window.map(({ ref }) => ref));
    }
  });
});
