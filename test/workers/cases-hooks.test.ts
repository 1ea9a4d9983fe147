/** Case B11: deliveries of a webhook, with retries, a lost first attempt, another app, a restart and a crash behind the answer. */
import { abortAllDurableObjects, env } from "cloudflare:test";
import { afterEach, beforeAll, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import { DEFAULT_HOOKS } from "#runner/default-hooks.ts";
import { signStandard } from "#shared/webhook-signatures.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { ParkingHooks } from "../support/parking-hooks.ts";
import { say } from "../support/scripted-model.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

let api: Api;
beforeAll(async () => {
  lab.heartbeatMs = 400;
  api = await Api.service("t1");
});
afterEach(() => {
  lab.models.clear();
  lab.hooks = DEFAULT_HOOKS;
});

interface Made {
  readonly id: string;
  readonly secret: string;
}

function start(name: string): { readonly model: StrictModel; hook(app: string): Promise<Sender> } {
  const model = new StrictModel(() => say("seen"));
  deploy(
    defineAgent({
      name,
      description: name,
      instructions: "See.",
      model: `test/${name}`,
      tools: [],
    }),
  );
  lab.models.set(`test/${name}`, model);
  return {
    model,
    hook: async (app) => {
      const made = await api.json<Made>("POST", "/v1/hooks", { app, agent: name });
      expect(made.status).toBe(201);
      return new Sender(made.body, new ThreadClient(api, name, made.body.id));
    },
  };
}

class Sender {
  readonly thread: ThreadClient;
  readonly #hook: Made;

  constructor(hook: Made, thread: ThreadClient) {
    this.#hook = hook;
    this.thread = thread;
  }
  /** As a sender tries: signed anew each time, under the id of the event. */
  async deliver(event: string, attempt = 0): Promise<number> {
    const body = JSON.stringify({ event, attempt });
    const signed = await signStandard({ id: event, at: Date.now(), body }, [this.#hook.secret]);
    const path = `/v1/hooks/${this.#hook.id}`;
    const response = await api.fetch("POST", path, { headers: signed, body });
    await response.text();
    return response.status;
  }
  async turns(count: number): Promise<void> {
    await api.until(async () =>
      (await this.thread.of("run.completed")).length === count ? true : null,
    );
  }
}

it("B11 [P131] [P132] each event is one turn: retries, a lost first attempt, another app with the same id, over a restart", async () => {
  const { model, hook } = start("b11");
  const [p, q] = [await hook("p"), await hook("q")];
  expect(await p.deliver("E1")).toBe(202);
  expect(await q.deliver("E1")).toBe(202);
  expect(await p.deliver("E1", 1)).toBe(200);
  await abortAllDurableObjects();
  expect(await p.deliver("E1", 3)).toBe(200);
  expect(await p.deliver("E2", 1)).toBe(202);
  await p.turns(2);
  await q.turns(1);
  expect(model.requests).toHaveLength(3);
  expect(await p.thread.of("input.received")).toHaveLength(2);
  const [input] = await p.thread.of("input.received");
  const [id] = p.thread.path.split("/").slice(-1);
  expect(input?.header).toMatchObject({ origin: [`webhook:${id}`], actor: id });
});

it("B11 [P131] a crash right behind the answer loses nothing, and one before it nothing either", async () => {
  const { model, hook } = start("b11-crash");
  const sender = await hook("crashing");
  const parking = new ParkingHooks(1);
  lab.hooks = parking.hooks();
  expect(await sender.deliver("E1")).toBe(202);
  await api.until(async () => (parking.parked === null ? null : true));
  await abortAllDurableObjects();
  // Nobody asks: the alarm that was set before the answer brings it on.
  await api.until(async () => (model.requests.length === 1 ? true : null));
  await sender.turns(1);

  // Durable in its thread, and the process died before it could note so: the sender comes again.
  await (env as unknown as { readonly DB: D1Database }).DB.prepare(
    "UPDATE hook_events SET delivered = 0",
  ).run();
  await abortAllDurableObjects();
  expect(await sender.deliver("E1", 1)).toBe(200);
  expect(await sender.deliver("E1", 2)).toBe(200);
  expect(await sender.deliver("E2")).toBe(202);
  await sender.turns(2);
  expect(model.requests).toHaveLength(2);
});

it("[P131] [B10] what a halted thread does not take is not acknowledged: its sender comes again, and it is taken then", async () => {
  const { model, hook } = start("b11-halt");
  const sender = await hook("halted");
  expect(await sender.deliver("E1")).toBe(202);
  await sender.turns(1);
  await api.json("POST", `${sender.thread.path}/halt`, { reason: "wait" });
  expect(await sender.deliver("E2")).toBe(503);
  await api.json("POST", `${sender.thread.path}/resume`, {});
  expect(await sender.deliver("E2", 1)).toBe(202);
  await sender.turns(2);
  expect(model.requests).toHaveLength(2);
});
