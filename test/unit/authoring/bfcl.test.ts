/** The Berkeley Function Calling Leaderboard, replayed: every right call runs, and no wrong one does. */
import { describe, expect, test } from "vitest";
import { readAnswer } from "#kernel/answer.ts";
import type { Refusal } from "#kernel/events.ts";
import type { ContentPart } from "#kernel/answer.ts";
import type { Tool } from "#ports/tool.ts";
import {
  type BfclCall,
  type BfclCase,
  goldCalls,
  readBfcl,
  toTools,
  type WrongCall,
  wrongCalls,
} from "#test/support/bfcl.ts";
import { NO_USAGE } from "#test/support/kernel-fixture.ts";
import { type ScriptPart, ScriptModel, say } from "#test/support/scripted-model.ts";
import { MANIFEST, ThreadHarness, toPin } from "#test/support/thread-harness.ts";

const cases = readBfcl() ?? [];
const SKIPPED = "shared/data/bfcl-dev.jsonl does not lie beside the project";
/** Every so many cases also go through a whole thread: gate, log and results. */
const THREAD_EVERY = 25;
const WRONG_PER_CASE = 6;

interface MadeCall {
  readonly name: string;
  readonly argsText: string;
}

/** What would run: the calls that are not refused, as the tool gets them. */
function read(tools: readonly Tool[], calls: readonly MadeCall[]) {
  const parts = calls.map(({ name, argsText }): ContentPart => ({
    type: "call",
    providerCallId: "",
    name,
    argsText,
  }));
  const answer = readAnswer({
    parts,
    finish: "tool_calls",
    usage: NO_USAGE,
    settings: MANIFEST.settings,
    manifest: { ...MANIFEST, tools: tools.map(toPin) },
    mintedCallIds: calls.map((_, index) => `call_${index}`),
    parse: (name, args) => {
      const tool = tools.find((known) => known.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      return tool.parse(args);
    },
  });
  const run: BfclCall[] = [];
  const refused: Refusal[] = [];
  for (const part of answer.parts) {
    if (part.type !== "call") continue;
    if (part.refusal === null) run.push({ name: part.name, args: part.args ?? {} });
    else refused.push(part.refusal);
  }
  return { run, refused };
}

async function execute(one: BfclCase, calls: readonly MadeCall[]): Promise<readonly BfclCall[]> {
  const executed: BfclCall[] = [];
  const step = calls.map(({ name, argsText }, index): ScriptPart => ({
    call: { id: `c${index}`, name, args: argsText },
  }));
  const model = new ScriptModel([[...step, { finish: "tool_calls" }], say("done")]);
  const thread = new ThreadHarness({ model, tools: toTools(one, executed) });
  thread.send("go");
  await thread.finish();
  expect(thread.run("run_1")).toMatchObject({ status: "completed", finish: "stop" });
  return executed;
}

function wrongOf(one: BfclCase, tools: readonly Tool[], index: number): readonly WrongCall[] {
  const [call] = goldCalls(one);
  const tool = tools.find(({ name }) => name === call?.name);
  if (call === undefined || tool === undefined) return [];
  const all = wrongCalls(call, tool.inputSchema);
  // Another share of the kinds for each case.
  const stride = Math.ceil(all.length / WRONG_PER_CASE);
  return all.filter((_, at) => (at + index) % stride === 0);
}

describe.skipIf(cases.length === 0)(`the leaderboard's calls (skipped where ${SKIPPED})`, () => {
  test("[T3] [T11] all gold calls run as they were meant, plainly and doubly encoded", async () => {
    let ran = 0;
    for (const [index, one] of cases.entries()) {
      const gold = goldCalls(one);
      const made = gold.flatMap(({ name, args }) => {
        const argsText = JSON.stringify(args);
        return [
          { name, argsText },
          { name, argsText: JSON.stringify(argsText) },
        ];
      });
      const { run, refused } = read(toTools(one, []), made);
      expect([one.id, refused]).toEqual([one.id, []]);
      // Defaults of the schema are filled in.
      expect([one.id, run]).toMatchObject([one.id, gold.flatMap((call) => [call, call])]);
      if (index % THREAD_EVERY === 0) expect(await execute(one, made)).toEqual(run);
      ran += run.length;
    }
    console.info(
      `BFCL: ${ran / 2} gold calls of ${cases.length} cases, each in two spellings: all ran`,
    );
  }, 120_000);

  test("[T3] [T11] [K21] no call with one thing wrong runs", async () => {
    const tried = new Map<string, number>();
    for (const [index, one] of cases.entries()) {
      const tools = toTools(one, []);
      const wrong = wrongOf(one, tools, index);
      const { run } = read(tools, wrong);
      expect([one.id, run]).toEqual([one.id, []]);
      if (index % THREAD_EVERY === 0) expect(await execute(one, wrong)).toEqual([]);
      for (const { kind } of wrong) tried.set(kind, (tried.get(kind) ?? 0) + 1);
    }
    const total = [...tried.values()].reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThanOrEqual(1_000);
    console.info(`BFCL: ${total} wrong calls, 0 ran:`, Object.fromEntries(tried));
  }, 120_000);
});
