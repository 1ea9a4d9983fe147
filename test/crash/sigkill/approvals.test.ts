/**
 * Calls that wait for a person while the server is killed 25 times and deployed twice, and is killed again around the
 * decision and inside of what was approved: what runs is what was shown, once (A1, A2, A3, A5).
 *
 * HOLDFAST_SIGKILL_SEED chooses other moments.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApprovalView, Page } from "#ports/thread-gateway.ts";
import { isJsonObject, type Json, type JsonObject } from "#shared/json.ts";
import { CrashClient, type Answer, type Receipt } from "../../support/crash-client.ts";
import { messageOf } from "../../support/crash-script.ts";
import { createDevServer, type DevServer } from "../../support/dev-server.ts";
import { exportFault } from "../../support/export-fault.ts";
import { Outside, type Moment, type Play, type Point } from "../../support/outside.ts";
import { readExport } from "../../support/run-check.ts";
import { createRandom } from "../../support/seeded-random.ts";

const KILLS = 25;
const SEED = Number(process.env["HOLDFAST_SIGKILL_SEED"] ?? 20261130);
/** From which kill on the server comes back as this build. */
const DEPLOYS: ReadonlyMap<number, string> = new Map([
  [8, "instructions"],
  [17, "extended"],
]);
/** After a start the server is left alone for at most so long. */
const UP_MS = 400;
const END_DEADLINE_MS = 60_000;
const GOODBYE = "It is done.";
/** One thread a case; the amounts tell their calls apart. */
const CASES = {
  decided: { tool: "wire", amount: 11 },
  before: { tool: "wire", amount: 22 },
  after: { tool: "wire", amount: 33 },
  once: { tool: "wire_once", amount: 44 },
} as const;
type Case = keyof typeof CASES;
const NAMES: readonly Case[] = ["decided", "before", "after", "once"];

describe("approvals on a server that is killed and deployed", () => {
  let outside: Outside;
  let server: DevServer;
  let client: CrashClient;
  let build = "first";
  let startMs = 0;
  const random = createRandom(SEED);
  const receipts = new Map<Case, Receipt>();
  const shown = new Map<Case, ApprovalView>();
  /** What the desk outside has done, with the arguments it was handed. */
  const wired: JsonObject[] = [];

  const play: Play = {
    script(run, step) {
      const { tool, amount } = CASES[run as Case];
      const call = { tool, args: { run, to: "ACME", amount } };
      return step === 1 ? { text: [], calls: [call] } : { text: [GOODBYE], calls: [] };
    },
    desk(body) {
      const args = isJsonObject(body["args"]) ? body["args"] : {};
      const key = String(body["key"]);
      const what = String(body["name"]);
      const done = () => wired.some((each) => each["key"] === key);
      const work = (): Json => {
        if (what === "check") return { value: done() ? "wired" : null };
        wired.push({ key, args });
        return { value: "wired" };
      };
      return { run: String(args["run"]), what, key, work };
    },
  };

  const pathOf = (name: Case): string => {
    const { approvalId = "" } = shown.get(name) ?? {};
    return `${client.pathOf(name)}/approvals/${approvalId}`;
  };
  const open = async (name: Case): Promise<readonly ApprovalView[]> => {
    const path = `${client.pathOf(name)}/approvals?state=open`;
    const { status, body } = await client.call<Page<ApprovalView>>("GET", path);
    expect(status).toBe(200);
    return body.items;
  };
  const decide = (name: Case, decision: "approve" | "deny"): Promise<Answer<JsonObject>> =>
    client.call("POST", `${pathOf(name)}/decision`, { decision });
  const restart = async (): Promise<void> => {
    await server.kill();
    await server.start([`TEST_BUILD:${build}`]);
  };
  /** What was shown ran once and is on the record once; the run went on from its result. */
  const expectDone = async (name: Case, status: "ok" | "unknown"): Promise<void> => {
    const { runId = "" } = receipts.get(name) ?? {};
    await expect
      .poll(() => client.run(name, runId), { timeout: END_DEADLINE_MS, interval: 100 })
      .toMatchObject({ status: "completed", finish: "stop", text: GOODBYE });
    const ran = wired.map(({ args }) => args).filter((args) => isFor(args ?? null, name));
    expect(ran).toEqual([shown.get(name)?.args]);
    const text = await client.export(name);
    expect(await exportFault(text)).toBeNull();
    const events = readExport(text);
    const payloads = (type: string) =>
      events.filter((event) => event.type === type).map(({ payload }) => payload);
    expect(payloads("approval.requested")).toHaveLength(1);
    expect(payloads("approval.decided")).toMatchObject([{ decision: "approved" }]);
    expect(payloads("tool.finished")).toMatchObject([{ result: { status } }]);
    for (const started of payloads("tool.started"))
      expect(started).toMatchObject({ args: shown.get(name)?.args });
  };
  /** Whoever answers later, and differently, is told what was decided (A3). */
  const expectDecided = async (name: Case): Promise<void> => {
    const before = wired.length;
    const recorded = (await client.call<ApprovalView>("GET", pathOf(name))).body;
    expect(recorded).toMatchObject({ status: "decided", decision: "approved" });
    const { status, body } = await decide(name, "deny");
    expect([status, body["code"]]).toEqual([409, "approval_already_decided"]);
    expect(body["context"]).toMatchObject({
      decision: "approved",
      decidedBy: recorded.decidedBy,
    });
    expect(wired).toHaveLength(before);
  };

  beforeAll(async () => {
    outside = await Outside.start(play);
    server = await createDevServer({ main: "test/support/crash-worker.ts", vars: outside.vars });
    client = new CrashClient(server, "cashier");
    const started = Date.now();
    await server.start();
    startMs = Date.now() - started;
    for (const name of NAMES)
      receipts.set(name, await client.send(name, messageOf(name), `msg-${name}`));
  });
  afterAll(async () => {
    await server.dispose();
    await outside[Symbol.asyncDispose]();
  });

  it(`[A1] [A5] wait through ${KILLS} kills and ${DEPLOYS.size} deploys as they were shown`, async () => {
    for (const name of NAMES) {
      await expect.poll(() => open(name), { timeout: END_DEADLINE_MS }).toHaveLength(1);
      const [approval] = await open(name);
      if (approval !== undefined) shown.set(name, approval);
      expect(approval?.args).toEqual({
        run: name,
        to: "ACME",
        amount: CASES[name].amount,
        currency: "EUR",
      });
    }
    let whileStarting = 0;
    await server.kill();
    for (let kill = 2; kill <= KILLS; kill += 1) {
      build = DEPLOYS.get(kill) ?? build;
      const vars = [`TEST_BUILD:${build}`];
      if (random.below(2) === 0) {
        await server.killWhileStarting(random.below(startMs), vars);
        whileStarting += 1;
        continue;
      }
      await server.start(vars);
      for (const name of NAMES) expect(await open(name)).toEqual([shown.get(name)]);
      // The moment finds clients asking, whose answers get lost.
      const asking = Promise.allSettled(NAMES.map((name) => client.view(name)));
      await pause(random.below(UP_MS));
      await server.kill();
      await asking;
    }
    await server.start([`TEST_BUILD:${build}`]);
    for (const name of NAMES) expect(await open(name)).toEqual([shown.get(name)]);
    expect(wired).toEqual([]);
    expect(build).toBe("extended");
    console.info(`approvals: ${KILLS} kills, ${whileStarting} of them while the server started`);
  });

  it("[A3] killed around the decision: it is recorded once, and what it allows happens once", async () => {
    const first = decide("decided", "approve").catch(() => null);
    await pause(random.below(UP_MS / 20));
    await restart();
    await first;
    // As a client does that was not answered. It may have been heard all the same.
    const again = await decide("decided", "approve");
    expect([200, 409]).toContain(again.status);
    await expectDone("decided", "ok");
    await expectDecided("decided");
  });

  it.each([
    ["before it had happened", "before", "asked", "ok"],
    ["after it had happened", "after", "done", "ok"],
    ["after it had happened, and cannot be asked", "once", "done", "unknown"],
  ] as const)(
    "[A2] [G8] [G9] killed in what was approved, %s: it happens once",
    async (_, name, point: Point, status) => {
      const { tool } = CASES[name];
      const here = (moment: Moment): boolean =>
        moment.run === name && moment.what === tool && moment.point === point;
      const release = outside.hold(here);
      expect(await decide(name, "approve")).toMatchObject({
        status: 200,
        body: { decision: "approved" },
      });
      await outside.reached(here);
      await restart();
      release();
      await expectDone(name, status);
      await expectDecided(name);
      await restart();
      await expectDecided(name);
    },
  );
});

function isFor(args: Json, name: Case): boolean {
  return isJsonObject(args) && args["run"] === name;
}
