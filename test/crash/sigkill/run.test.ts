/**
 * Twenty-step runs on a real server that SIGKILL takes down: at seeded random moments, and inside of each kind of effect.
 * Afterwards the log, the counts outside and what a client saw must agree exactly (test/support/run-check.ts).
 *
 * HOLDFAST_SIGKILL_ROUNDS and HOLDFAST_SIGKILL_SEED choose another number of rounds and other moments.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setTimeout as pause } from "node:timers/promises";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { WebCryptoCheck } from "#adapters/signing/web-crypto-signing.ts";
import { verifyAuditExport } from "#audit/verify-export.ts";
import type { CrashTool } from "../../support/crash-script.ts";
import { finalText, messageOf, STEPS } from "../../support/crash-script.ts";
import type { Following, Receipt } from "../../support/crash-client.ts";
import { CrashClient, createFollowing, pathOf } from "../../support/crash-client.ts";
import type { DevServer } from "../../support/dev-server.ts";
import { createDevServer } from "../../support/dev-server.ts";
import type { Moment, Point } from "../../support/outside.ts";
import { Outside } from "../../support/outside.ts";
import { flipBit, HAS_PYTHON, verifyWithPython } from "../../support/python-verifier.ts";
import { checkRun, readExport } from "../../support/run-check.ts";
import { createRandom } from "../../support/seeded-random.ts";

const ROUNDS = Number(process.env["HOLDFAST_SIGKILL_ROUNDS"] ?? 25);
const SEED = Number(process.env["HOLDFAST_SIGKILL_SEED"] ?? 20261130);
/** What a whole run without kills passes outside; a kill is aimed at one of them. */
const MOMENTS = 150;
const MAX_DELAY_MS = 12;
/**
 * Of one run: the second may fall into what the first made necessary. One more in a row would end the run as exhausted,
 * which is right (K15) and not what is asked here.
 */
const MAX_KILLS = 2;
const RUN_DEADLINE_MS = 60_000;
/** Without a request: the heartbeat of an abandoned run is 20 s, and the issue asks for 35 s. */
const ALONE_DEADLINE_MS = 35_000;
const WAITING_DEADLINE_MS = 2_000;

interface Started {
  readonly run: string;
  readonly receipt: Receipt;
  readonly following: Following;
  readonly followed: Promise<void>;
  stopFollowing(): void;
}

/** Where a kill is to fall, in the last steps of a run, so that little is left to do after it. */
const TARGETS: readonly {
  readonly name: string;
  readonly step: number;
  readonly what: "model" | CrashTool;
  readonly point: Point;
}[] = [
  { name: "model-stream", step: 20, what: "model", point: "stream" },
  { name: "read-done", step: 20, what: "look", point: "done" },
  { name: "idempotent-done", step: 16, what: "store", point: "done" },
  { name: "reconcile-done", step: 17, what: "book", point: "done" },
  { name: "reconcile-not-done", step: 17, what: "book", point: "asked" },
  { name: "once-done", step: 18, what: "pay", point: "done" },
  { name: "once-not-done", step: 18, what: "pay", point: "asked" },
  { name: "file-done", step: 19, what: "note", point: "done" },
  { name: "between-steps", step: 20, what: "model", point: "next" },
];

describe("a server killed with SIGKILL", () => {
  let outside: Outside;
  let server: DevServer;
  let client: CrashClient;
  const threads = new Map<string, string>();

  const begin = async (run: string, { follow = true } = {}): Promise<Started> => {
    const receipt = await client.send(run, messageOf(run), `msg-${run}`);
    const following = createFollowing();
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(2 * RUN_DEADLINE_MS)]);
    const followed = follow ? client.follow(receipt, following, signal) : Promise.resolve();
    threads.set(run, receipt.runId);
    return { run, receipt, following, followed, stopFollowing: () => stop.abort() };
  };
  const problemsOf = async (
    run: string,
    kills: number,
    acknowledged: readonly string[],
  ): Promise<readonly string[]> =>
    checkRun({ run, events: readExport(await client.export(run)), outside, kills, acknowledged });
  /** Each event once, in order, without a gap, and live text equal to what was stored. */
  const expectFollowed = ({ receipt, following }: Started, what?: string): void => {
    const { seqs, mismatches, ended } = following;
    expect(ended, what).toBe("run.completed");
    expect(seqs, what).toEqual(seqs.map((_, index) => receipt.seq + 1 + index));
    expect(mismatches, what).toEqual([]);
  };
  const holdAll = (prefix: string): (() => void)[] =>
    TARGETS.map(({ name, step, what, point }) =>
      outside.hold(
        (moment) =>
          moment.run === `${prefix}-${name}` &&
          moment.step === step &&
          moment.what === what &&
          moment.point === point,
      ),
    );
  const reachAll = (prefix: string): Promise<readonly Moment[]> =>
    Promise.all(
      TARGETS.map(({ name, step, what, point }) =>
        outside.reached(
          (moment) =>
            moment.run === `${prefix}-${name}` &&
            moment.step === step &&
            moment.what === what &&
            moment.point === point,
        ),
      ),
    );
  const momentAfter = (run: string, at: number): number =>
    (outside.of(run).find((moment) => moment.at > at)?.at ?? Number.POSITIVE_INFINITY) - at;

  beforeAll(async () => {
    outside = await Outside.start();
    server = await createDevServer({ main: "test/support/crash-worker.ts", vars: outside.vars });
    client = new CrashClient(server);
    await server.start();
  });
  afterAll(async () => {
    await server.dispose();
    await outside[Symbol.asyncDispose]();
  });

  it("[G6] [G7] [G8] [G9] goes on by itself within 35 s, wherever the kill fell and without any request", async () => {
    const holds = holdAll("alone");
    for (const { name } of TARGETS) await begin(`alone-${name}`, { follow: false });
    await reachAll("alone");
    await server.kill();
    await server.start();
    const ready = Date.now();
    for (const release of holds) release();
    const ends = await Promise.all(
      TARGETS.map(({ name }) =>
        outside.reached(
          ({ run, step, point }) =>
            run === `alone-${name}` && step === STEPS + 1 && point === "done",
          { timeoutMs: ALONE_DEADLINE_MS },
        ),
      ),
    );
    report(
      "alone, ms from the server's first answer to the end",
      ends.map(({ at }) => at - ready),
    );
    for (const { name } of TARGETS) {
      const run = `alone-${name}`;
      await expect
        .poll(() => client.run(run, threads.get(run) ?? ""), { timeout: 5_000 })
        .toMatchObject({ status: "completed", text: finalText(run) });
      expect(await problemsOf(run, 1, [])).toEqual([]);
    }
  });

  it("[P2] [G5] goes on at once for a waiting client, which sees each event once", async () => {
    const holds = holdAll("waiting");
    const runs: Started[] = [];
    for (const { name } of TARGETS) runs.push(await begin(`waiting-${name}`));
    await reachAll("waiting");
    await server.kill();
    const killed = Date.now();
    await server.start();
    const ready = Date.now();
    for (const release of holds) release();
    await Promise.all(runs.map(({ followed }) => followed));
    const resumed = runs.map(({ run }) => momentAfter(run, killed) + killed - ready);
    report("waiting, ms from the server's first answer to work going on", resumed);
    report(
      "waiting, ms to the end",
      runs.map(({ following }) => following.at - ready),
    );
    expect(Math.max(...resumed)).toBeLessThan(WAITING_DEADLINE_MS);
    for (const started of runs) {
      expectFollowed(started);
      expect(await problemsOf(started.run, 1, started.following.hashes)).toEqual([]);
    }
  });

  it(`[G1] [G12] keeps exact counts over ${ROUNDS} kills at random moments`, async () => {
    const random = createRandom(SEED);
    const hits = new Map<string, number>();
    for (let round = 0; round < ROUNDS;) {
      const run = `round-${round + 1}`;
      const started = await begin(run);
      const kills = Math.min(1 + random.below(MAX_KILLS), ROUNDS - round);
      const aims: string[] = [];
      for (let kill = 0; kill < kills; kill += 1) {
        const passed = outside.of(run).length;
        const nth = passed + 1 + random.below(Math.max(MOMENTS - passed, 1));
        const delay = random.below(MAX_DELAY_MS + 1);
        aims.push(`moment ${nth} + ${delay} ms`);
        await Promise.race([
          outside.reached((moment) => moment.run === run, { nth, timeoutMs: RUN_DEADLINE_MS }),
          started.followed,
        ]);
        await pause(delay);
        await server.kill();
        await server.start();
      }
      round += kills;
      await started.followed;
      const what = `${run}, killed at ${aims.join(", ")}`;
      expectFollowed(started, what);
      expect(await problemsOf(run, kills, started.following.hashes), what).toEqual([]);
      for (const kind of cutOffIn(await client.export(run)))
        hits.set(kind, (hits.get(kind) ?? 0) + 1);
    }
    console.info(`cut off: ${JSON.stringify(Object.fromEntries(hits))}`);
  });

  it.runIf(HAS_PYTHON)(
    "[L13] [L4] live exports verify in Python, a flipped bit does not, an erased payload does",
    async () => {
      const runs = [...threads.keys()];
      const texts: string[] = [];
      for (const run of runs) texts.push(await client.export(run));
      const verdicts = verifyWithPython(texts);
      expect(verdicts.filter((line) => !line.startsWith("ok "))).toEqual([]);
      const trust = { hasher: new NodeHasher(), check: new WebCryptoCheck(), keys: null };
      for (const text of texts)
        expect(await verifyAuditExport(new Blob([text]).stream(), trust)).toMatchObject({
          ok: true,
          value: { logs: 1, signed: true },
        });
      const flipped = texts.map((text, index) => flipBit(text, 1 + (index % 40)));
      expect(verifyWithPython(flipped)).toEqual(
        runs.map((_, index) =>
          expect.stringMatching(
            `^bad log=log_\\S+ seq=${1 + (index % 40)} reason=payload_mismatch `,
          ),
        ),
      );

      const [run = ""] = runs;
      const input = readExport(texts[0] ?? "").find(({ type }) => type === "input.received");
      const erased = await client.call("POST", `${pathOf(run)}/events/${input?.header.seq}/erase`);
      expect(erased).toEqual({ status: 200, body: { erased: 1 } });
      const after = await client.export(run);
      expect(after).not.toContain(Buffer.from(messageOf(run)).toString("base64").slice(4, 20));
      const counts = / anchors=\d+ unanchored=\d+/;
      expect(verifyWithPython([after]).map((line) => line.replace(counts, ""))).toEqual([
        verdicts[0]?.replace("erased=0", "erased=1").replace(counts, ""),
      ]);
    },
  );

  it("negative control: the same checks report loss when the state is thrown away", async () => {
    const run = "control";
    const started = await begin(run);
    await outside.reached((moment) => moment.run === run && moment.step === 10);
    await server.kill();
    started.stopFollowing();
    await started.followed;
    server.discardState();
    await server.start();
    // As a client does that was not answered: the same message again.
    const again = await client.send(run, messageOf(run), `msg-${run}`);
    await client.follow(again, createFollowing(), AbortSignal.timeout(RUN_DEADLINE_MS));
    const problems = (await problemsOf(run, 1, started.following.hashes)).join("\n");
    expect(problems).toMatch(/lost \d+ acknowledged events/);
    expect(problems).toMatch(/model calls, of which kills explain/);
    expect(problems).toMatch(/step 1 was asked 2 times/);
    expect(problems).toMatch(/effects outside are in no log/);
  });
});

/** What a kill fell into, by the record: an outcome of a newer epoch than its intent. */
function cutOffIn(text: string): readonly string[] {
  const events = readExport(text);
  return events.flatMap(({ type, header, payload }) => {
    const closed = events.find((event) => event.header.cause === header.id);
    if ((closed?.header.epoch ?? 0) <= header.epoch) return [];
    const name = (payload as { name?: string } | null)?.name;
    return [type === "tool.started" ? (name ?? type) : type];
  });
}

function report(what: string, values: readonly number[]): void {
  console.info(`${what}: ${values.toSorted((a, b) => a - b).join(" ")}`);
}
