/**
 * Kill -9 at random moments while schedules come due, webhooks come in and runs are told to a webhook outside: each due time
 * fires once, each accepted event is one run, each end of a run is told at least once under one id (P121, P131, P132, P137).
 *
 * HOLDFAST_SIGKILL_SEED chooses other moments.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signStandard } from "#shared/webhook-signatures.ts";
import { isJsonObject } from "#shared/json.ts";
import { CrashClient } from "../../support/crash-client.ts";
import { createDevServer, type DevServer } from "../../support/dev-server.ts";
import { exportFault } from "../../support/export-fault.ts";
import { createRandom } from "../../support/seeded-random.ts";
import { WebhookReceiver } from "../../support/webhook-receiver.ts";

const SEED = Number(process.env["HOLDFAST_SIGKILL_SEED"] ?? 20261201);
const AGENT = "obeys";
const EVERY_SECONDS = 60;
/** Both due times of the periodic schedule, and what is left over behind the second. */
const PERIODS = 2;
const EVENTS = 12;
const THREADS = ["s0", "s1", "s2"];
const ONCE_EACH = 4;
/** Between the due times of the schedules that fire once. */
const APART_MS = 3_000;
const KILLS = 6;
/** After a start the server is left alone for at most so long. */
const UP_MS = 2_500;
/** How long the receiver thinks, so that kills find deliveries under way. */
const RECEIVER_MS = 150;
const REST_DEADLINE_MS = 90_000;

interface Made {
  readonly id: string;
  readonly secret: string;
}

describe("schedules and webhooks on a server that is killed", () => {
  const random = createRandom(SEED);
  let server: DevServer;
  let client: CrashClient;
  let receiver: WebhookReceiver;
  let hook: Made;
  let webhook: Made;
  let setAt = 0;
  let kills = 0;

  async function made(path: string, body: { readonly [key: string]: string | readonly string[] }) {
    const { status, body: view } = await client.call<Made>("POST", path, body);
    expect(status).toBe(201);
    return view;
  }
  async function schedule(
    thread: string,
    id: string,
    rule: { readonly [key: string]: string | number },
  ) {
    const path = `${client.pathOf(thread)}/schedules/${id}`;
    const { status } = await client.call("PUT", path, { rule, text: `say ${thread} ${id}` });
    expect(status).toBe(200);
  }
  async function deliver(event: string): Promise<number> {
    const body = JSON.stringify({ event });
    const headers = await signStandard({ id: event, at: Date.now(), body }, [hook.secret]);
    try {
      const response = await fetch(`${server.url}/v1/hooks/${hook.id}`, {
        method: "POST",
        headers,
        body,
      });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0;
    }
  }
  const told = () => receiver.told.map(({ id, data }) => ({ id, run: String(data["run"]) }));
  /** As senders do: until it is taken, and one of two once more because the answer may have been lost. */
  async function insist(event: string): Promise<void> {
    const seen: number[] = [];
    while (seen.at(-1) !== 202 && seen.at(-1) !== 200) {
      seen.push(await deliver(event));
      await pause(100);
    }
    if (random.below(2) === 0) seen.push(await deliver(event));
  }
  /** Of a type: run and payload, in order of the log, which is whole. */
  async function eventsOf(thread: string) {
    expect(await exportFault(await client.export(thread))).toBeNull();
    const events = await client.events(thread);
    return (type: string) =>
      events
        .filter(({ header }) => header.type === type)
        .map(({ header, payload }) => ({
          run: header.run ?? "",
          payload: isJsonObject(payload) ? payload : {},
        }));
  }
  /** Waits until so many runs of a thread have ended, and answers its events. */
  async function atRest(thread: string, runs: number) {
    const ended = async () => (await eventsOf(thread))("run.completed").length;
    await expect
      .poll(ended, { timeout: REST_DEADLINE_MS, interval: 500 })
      .toBeGreaterThanOrEqual(runs);
    return eventsOf(thread);
  }

  beforeAll(async () => {
    receiver = await WebhookReceiver.start(RECEIVER_MS);
    server = await createDevServer({ main: "test/support/sockets-worker.ts" });
    client = new CrashClient(server, AGENT);
    await server.start();
    webhook = await made("/v1/webhooks", {
      url: receiver.url,
      agent: AGENT,
      types: ["run.completed"],
    });
    receiver.secret = webhook.secret;
    hook = await made("/v1/hooks", { app: "shop", agent: AGENT });
    setAt = Date.now();
    for (const [at, thread] of THREADS.entries()) {
      const { status } = await client.call("POST", `/v1/agents/${AGENT}/threads`, { id: thread });
      expect(status).toBe(201);
      for (let index = 0; index < ONCE_EACH; index += 1) {
        const due = setAt + 10_000 + (index * THREADS.length + at) * APART_MS;
        await schedule(thread, `once-${index}`, { type: "once", at: due });
      }
    }
    await schedule("s0", "tick", { type: "every", seconds: EVERY_SECONDS });
  });
  afterAll(async () => {
    await server.dispose();
    await receiver[Symbol.asyncDispose]();
  });

  it("is killed at random moments, until two periods have passed and each event is taken", async () => {
    const end = Date.now() + PERIODS * EVERY_SECONDS * 1_000 + 1_000;
    const sending = (async () => {
      for (let event = 0; event < EVENTS; event += 1) {
        await insist(`evt-${event}`);
        await pause(random.below(4_000));
      }
    })();
    // A slow machine spends the time on its starts, so it is given more.
    while (Date.now() < end || kills < KILLS) {
      await pause(random.below(UP_MS));
      await server.kill();
      kills += 1;
      await server.start();
    }
    await sending;
    console.info(`schedules and webhooks: ${kills} kills`);
  });

  it("[P121] [P122] [P126] each due time fires once, and is one run; the periodic one keeps its grid", async () => {
    for (const thread of THREADS) {
      const periods = thread === "s0" ? PERIODS : 0;
      await atRest(thread, ONCE_EACH + periods);
      if (periods > 0) await client.call("DELETE", `${client.pathOf(thread)}/schedules/tick`);
      const of = await eventsOf(thread);
      const fired = of("schedule.fired");
      expect(fired.map(({ payload }) => payload["skipped"])).toEqual(fired.map(() => null));
      expect(runsOf(of("run.completed"))).toEqual(runsOf(fired));
      expect(of("input.received")).toHaveLength(fired.length);
      expect(of("model.answered")).toHaveLength(fired.length);
      const bySchedule = Map.groupBy(fired, ({ payload }) => payload["of"]);
      const dueTimes = [...bySchedule.values()].map((each) =>
        each.map(({ payload }) => Number(payload["dueAt"])),
      );
      expect(dueTimes).toHaveLength(ONCE_EACH + Math.sign(periods));
      const ticks = dueTimes.filter((each) => each.length > 1);
      expect(ticks).toHaveLength(Math.sign(periods));
      for (const grid of ticks) {
        expect(grid.length).toBeGreaterThanOrEqual(PERIODS);
        const step = EVERY_SECONDS * 1_000;
        // A time that a start took too long to reach is left out (P125); none is shifted, and none fires twice.
        expect(grid.map((due) => (due - (grid[0] ?? 0)) % step)).toEqual(grid.map(() => 0));
        expect(new Set(grid).size).toBe(grid.length);
      }
    }
  });

  it("[P131] [P132] each event that was taken is one run, whoever delivered it how often", async () => {
    const of = await atRest(hook.id, EVENTS);
    const inputs = of("input.received").map(({ payload }) => String(payload["text"]));
    expect(inputs).toHaveLength(EVENTS);
    for (let event = 0; event < EVENTS; event += 1)
      expect(inputs.filter((text) => text.includes(`"evt-${event}"`))).toHaveLength(1);
    expect(of("run.started")).toHaveLength(EVENTS);
    expect(of("run.completed")).toHaveLength(EVENTS);
  });

  it("[P137] each run's end is told at least once, always under the same id, signed", async () => {
    const ended: string[] = [];
    for (const thread of [...THREADS, hook.id])
      ended.push(...runsOf((await eventsOf(thread))("run.completed")));
    const tellings = () => [...new Set(told().map(({ run }) => run))].toSorted();
    await expect
      .poll(tellings, { timeout: REST_DEADLINE_MS, interval: 500 })
      .toEqual(ended.toSorted());
    const idsOf = Map.groupBy(told(), ({ run }) => run);
    for (const tellingsOfRun of idsOf.values())
      expect(new Set(tellingsOfRun.map(({ id }) => id)).size).toBe(1);
    expect(new Set(told().map(({ id }) => id)).size).toBe(ended.length);
    expect(receiver.forged).toEqual([]);
    const path = `/v1/webhooks/${webhook.id}/deliveries?state=delivered`;
    const delivered = async () =>
      (await client.call<{ items: readonly { message: string }[] }>("GET", path)).body.items.length;
    await expect.poll(delivered, { timeout: REST_DEADLINE_MS, interval: 500 }).toBe(ended.length);
    console.info(`schedules and webhooks: ${ended.length} runs, ${receiver.told.length} tellings`);
  });
});

function runsOf(events: readonly { readonly run: string }[]): readonly string[] {
  return events.map(({ run }) => run).toSorted();
}
