/**
 * Golden logs of whole threads, one per scenario of the crash suite and one per play of what those leave out, written once and never edited: what they hold must
 * stay readable, foldable and recompilable by every later build. `UPDATE=1` writes the missing ones only.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { exportLog, verifyExport } from "#audit/export.ts";
import { rebuildPrompt } from "#audit/rebuild-prompt.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import { THREAD_FOLD } from "#kernel/evolve.ts";
import { SCENARIOS, type Scenario } from "#test/crash/scenarios.ts";
import { GOLDEN_PLAYS, type GoldenPlay } from "#test/support/golden-plays.ts";
import { readGoldenLog } from "#test/support/golden-log.ts";
import { ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";
import { World } from "#test/support/world.ts";

const FOLDER = join(import.meta.dirname, "../../fixtures/logs/threads-v1");
const hasher = new NodeHasher();

const toPlay = (scenario: Scenario): GoldenPlay => ({
  name: scenario.name,
  play: async () => {
    const model = new ScriptModel(scenario.script);
    const thread = new ThreadHarness({ model, tools: scenario.tools(new World()) });
    await scenario.play(thread);
    return thread;
  },
});
const PLAYS: readonly GoldenPlay[] = [...SCENARIOS.map(toPlay), ...GOLDEN_PLAYS];

async function record({ play }: GoldenPlay): Promise<string> {
  const { log } = await play();
  return `${[...exportLog(log)].join("\n")}\n`;
}

function pathOf({ name }: GoldenPlay): string {
  return join(FOLDER, `${name.replaceAll(/[^a-z0-9]+/gu, "-")}.jsonl`);
}

describe.each(PLAYS)("golden log of: $name", (scenario) => {
  it("[K11] compiles every recorded request again to the recorded digest", async () => {
    if (!existsSync(pathOf(scenario)) && process.env["UPDATE"] === "1") {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(pathOf(scenario), await record(scenario));
    }
    const log = readGoldenLog(readFileSync(pathOf(scenario), "utf8"));
    const requests = log.events.filter((event) => event.type === "model.requested");
    expect(requests.length).toBeGreaterThan(0);
    for (const { header } of requests) {
      expect(rebuildPrompt(log, hasher, header.seq)).toMatchObject({
        ok: true,
        value: { intact: true },
      });
    }
  });

  it("[L13] verifies, and [K14] folds to a thread whose runs have ended", () => {
    const text = readFileSync(pathOf(scenario), "utf8");
    expect(verifyExport(text, hasher).ok).toBe(true);
    const state = readGoldenLog(text).events.reduce(
      (folded, event) => THREAD_FOLD.evolve(folded, event),
      THREAD_FOLD.initial(),
    );
    expect(state).toMatchObject({ run: null, queue: [] });
  });

  it("[K10] a changed reference does not go unnoticed", () => {
    const log = readGoldenLog(readFileSync(pathOf(scenario), "utf8"));
    const last = log.events.findLast((event) => event.type === "model.requested");
    if (last?.type !== "model.requested" || last.payload === null) throw new Error("no request");
    const { refs } = last.payload;
    const input = log.events.find((event) => event.type === "input.received");
    if (input === undefined) throw new Error("no input");
    const changed = {
      ...last,
      payload: {
        ...last.payload,
        refs: { ...refs, add: [...refs.add, [input.header.seq, 0, 0] as const] },
      },
    };
    const tampered = {
      ...log,
      get: (seq: number) => (seq === last.header.seq ? changed : log.get(seq)),
    };
    const rebuilt = rebuildPrompt(tampered, hasher, last.header.seq);
    expect(rebuilt.ok && rebuilt.value.intact).toBe(false);
  });
});

it("[L13] each type of the catalogue is in some golden log", () => {
  const told = PLAYS.flatMap((play) => readGoldenLog(readFileSync(pathOf(play), "utf8")).events);
  const types = new Set<string>(told.map(({ type }) => type));
  const missing = Object.keys(THREAD_CATALOGUE.versions).filter((type) => !types.has(type));
  expect(missing, "add a play to test/support/golden-plays.ts, then UPDATE=1").toEqual([]);
});
