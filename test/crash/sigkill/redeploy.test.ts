/**
 * Runs whose server is killed and comes back as another build, on the same state: each ends on what it was pinned to, or
 * is readable with a reason, and goes on when a build comes that can go on (K18, T9, L6).
 *
 * One thread per case. All are stopped between two steps; a case lets its own thread go on, so that what the others do
 * when they wake by their alarms does not disturb it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CrashClient, pathOf, type Receipt } from "../../support/crash-client.ts";
import { finalText, messageOf, script, STEPS } from "../../support/crash-script.ts";
import { createDevServer, type DevServer } from "../../support/dev-server.ts";
import { Outside } from "../../support/outside.ts";
import { HAS_PYTHON, verifyWithPython } from "../../support/python-verifier.ts";
import { checkRun, eventLines, readExport, type LoggedEvent } from "../../support/run-check.ts";

const FIRST = "Do it the first way.";
/** Where runs stop at first; the tool `pay` is called in step 3 and again in later steps. */
const STOP = 5;
const LATER = 9;
const THREADS = ["instructions", "removed", "reshaped", "event", "migration"] as const;
type Thread = (typeof THREADS)[number];

describe("a server killed and started again as another build", () => {
  let outside: Outside;
  let server: DevServer;
  let client: CrashClient;
  const receipts = new Map<Thread, Receipt>();
  const stops = new Map<Thread, () => void>();
  /** Kills that a thread's run has met. */
  let kills = 0;

  const restart = async (build: string): Promise<void> => {
    await server.kill();
    kills += 1;
    await server.start([`TEST_BUILD:${build}`]);
  };
  /** The run of this thread waits before each model call from `step` on. */
  const stopAt = (thread: Thread, step: number): void => {
    const release = outside.hold(
      (moment) => moment.run === thread && moment.point === "next" && moment.step >= step,
      { every: true },
    );
    stops.set(thread, release);
  };
  const goOn = (thread: Thread, until: number | null): void => {
    stops.get(thread)?.();
    if (until !== null) stopAt(thread, until);
  };
  const reached = (thread: Thread, step: number): Promise<unknown> =>
    outside.reached(
      (moment) => moment.run === thread && moment.point === "next" && moment.step === step,
    );
  /** Asking is what wakes a thread at once. */
  const ended = async (thread: Thread): Promise<void> => {
    const { runId = "" } = receipts.get(thread) ?? {};
    await expect
      .poll(() => client.run(thread, runId), { timeout: 60_000, interval: 100 })
      .toMatchObject({ status: "completed", finish: "stop", text: finalText(thread) });
  };
  const eventsOf = async (thread: Thread): Promise<readonly LoggedEvent[]> =>
    readExport(await client.export(thread));
  const systemOf = (thread: Thread): readonly string[] =>
    (outside.prompts.get(thread) ?? []).map(({ messages }) => {
      const [first] = messages as unknown as readonly { readonly content: string }[];
      return first?.content ?? "";
    });
  const effectsOf = (thread: Thread, tool: string): number =>
    outside.of(thread).filter(({ what, point }) => what === tool && point === "done").length;

  beforeAll(async () => {
    outside = await Outside.start();
    server = await createDevServer({ main: "test/support/crash-worker.ts", vars: outside.vars });
    client = new CrashClient(server);
    await server.start();
    for (const thread of THREADS) {
      stopAt(thread, STOP);
      receipts.set(thread, await client.send(thread, messageOf(thread), `msg-${thread}`));
    }
    for (const thread of THREADS) await reached(thread, STOP);
  });
  afterAll(async () => {
    await server.dispose();
    await outside[Symbol.asyncDispose]();
  });

  it("[K18] ends on the instructions it began with; the next run has the new ones", async () => {
    await restart("instructions");
    goOn("instructions", null);
    await ended("instructions");
    const events = await eventsOf("instructions");
    expect(checkRun({ run: "instructions", events, outside, kills, acknowledged: [] })).toEqual([]);
    const old = systemOf("instructions");
    expect(old.filter((text) => !text.includes(FIRST))).toEqual([]);

    await client.send("instructions", messageOf("again"), "msg-again");
    await outside.reached(
      ({ run, step, point }) => run === "again" && step === STEPS + 1 && point === "done",
    );
    const [body] = outside.prompts.get("again") ?? [];
    expect(JSON.stringify(body)).toContain("Do it another way.");
    expect(JSON.stringify(body)).not.toContain(FIRST);
    const definitions = (await eventsOf("instructions"))
      .filter(({ type }) => type === "model.requested")
      .map(({ header }) => header.definition);
    expect(new Set(definitions).size).toBe(2);
  });

  it.each([
    ["removed", "tool-removed", "is no longer part of this agent"],
    ["reshaped", "tool-reshaped", "has changed since this run began"],
  ] as const)(
    "[T9] a tool that was %s is refused, and the run ends",
    async (thread, build, reason) => {
      const before = effectsOf(thread, "pay");
      await restart(build);
      goOn(thread, null);
      await ended(thread);
      expect(effectsOf(thread, "pay")).toBe(before);
      const refused = (await eventsOf(thread)).filter(({ type }) => type === "tool.refused");
      expect(refused.length).toBe(callsOf(thread, "pay", STOP));
      for (const { payload } of refused) {
        expect(payload).toMatchObject({ name: "pay", refusal: { code: "tool_unavailable" } });
        expect(JSON.stringify(payload)).toContain(reason);
      }
    },
  );

  it("[L6] events of a newer build: the older build reads them, runs nothing and loses nothing", async () => {
    await restart("event-raised");
    goOn("event", LATER);
    await client.view("event");
    await reached("event", LATER);
    // Through the newer build, what the older one wrote reads as the newer version.
    const results = (await client.events("event")).filter(
      ({ header }) => header.type === "tool.finished",
    );
    expect(new Set(results.map(({ header }) => header.version))).toEqual(new Set([1, 2]));
    expect(
      results.every(
        ({ header, payload }) =>
          (header.version === 1) === JSON.stringify(payload).includes('"upcast":true'),
      ),
    ).toBe(true);
    const before = await client.export("event");

    await restart("first");
    await expectReadOnly("event", { status: 409, code: "log_newer_than_code" }, before);
  });

  it("[L6] a schema of a newer build: the older build reads it, runs nothing and loses nothing", async () => {
    await restart("migration");
    goOn("migration", LATER);
    await client.view("migration");
    await reached("migration", LATER);
    const before = await client.export("migration");

    await restart("first");
    await expectReadOnly("migration", { status: 503, code: "migration_failed" }, before);
  });

  it("[L6] back on the newest build both go on where they were, and end", async () => {
    await restart("newest");
    for (const thread of ["event", "migration"] as const) {
      goOn(thread, null);
      await ended(thread);
      const events = await eventsOf(thread);
      expect(checkRun({ run: thread, events, outside, kills, acknowledged: [] })).toEqual([]);
    }
  });

  it.runIf(HAS_PYTHON)("[L13] the chains of all builds verify", async () => {
    const texts: string[] = [];
    for (const thread of THREADS) texts.push(await client.export(thread));
    expect(verifyWithPython(texts).filter((line) => !line.startsWith("ok "))).toEqual([]);
  });

  async function expectReadOnly(
    thread: Thread,
    refusal: { readonly status: number; readonly code: string },
    before: string,
  ): Promise<void> {
    const { runId = "" } = receipts.get(thread) ?? {};
    const outsideBefore = outside.of(thread).length;
    const { status, body } = await client.view(thread);
    expect([status, body.writable, body.readOnlyReason]).toEqual([200, false, refusal.code]);
    expect(body.head.seq).toBe(readExport(before).length);
    expect(eventLines(await client.export(thread))).toEqual(eventLines(before));
    expect((await client.events(thread)).map(({ hash }) => hash)).toEqual(
      readExport(before).map(({ hash }) => hash),
    );
    expect(await client.run(thread, runId)).toMatchObject({ status: "running" });
    const messages = await client.call<{ items: unknown[] }>("GET", `${pathOf(thread)}/messages`);
    expect(messages.status).toBe(200);
    expect(messages.body.items.length).toBeGreaterThan(1);
    const refused = await client.call("POST", `${pathOf(thread)}/messages`, { text: "More." });
    expect(refused).toMatchObject({ status: refusal.status, body: { code: refusal.code } });
    // Nothing goes on: neither for those requests, nor for an alarm that was due while they were made.
    expect(outside.of(thread).length).toBe(outsideBefore);
    expect(eventLines(await client.export(thread))).toEqual(eventLines(before));
  }
});

/** How often the script calls a tool from a step on. */
function callsOf(run: string, tool: string, from: number): number {
  return Array.from({ length: STEPS - from + 1 }, (_, index) => script(run, from + index).calls)
    .flat()
    .filter((call) => call.tool === tool).length;
}
