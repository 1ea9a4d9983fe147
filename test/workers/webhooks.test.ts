/** Webhooks that go out of an object: told by the outbox, at least once, without slowing a run. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { defineAgent } from "#authoring/define-agent.ts";
import type { Json } from "#shared/json.ts";
import { Api } from "../support/api.ts";
import { deploy, lab } from "../support/lab.ts";
import { answered, MemoryReceiver } from "../support/memory-receiver.ts";
import { say } from "../support/scripted-model.ts";
import { StrictModel } from "../support/strict-model.ts";
import { ThreadClient } from "../support/thread-client.ts";

interface Told {
  readonly message: string;
  readonly state: string;
  readonly attempts: number;
}

let api: Api;
let receiver: MemoryReceiver;
beforeAll(async () => {
  lab.heartbeatMs = 400;
  api = await Api.service("told");
});
beforeEach(() => (lab.sender = receiver = new MemoryReceiver()));
afterEach(() => {
  lab.models.clear();
  lab.sender = null;
});

async function start(name: string, types: readonly string[] = ["run.completed"]) {
  const model = new StrictModel(() => say("a secret of the thread"));
  lab.models.set(`test/${name}`, model);
  deploy(
    defineAgent({
      name,
      description: name,
      instructions: "Say.",
      model: `test/${name}`,
      tools: [],
    }),
  );
  const body: Json = { url: `https://example.com/${name}`, agent: name, types };
  const made = await api.json<{ id: string }>("POST", "/v1/webhooks", body);
  expect(made.status).toBe(201);
  const path = `/v1/webhooks/${made.body.id}/deliveries`;
  const deliveries = async (): Promise<readonly Told[]> =>
    (await api.json<{ items: readonly Told[] }>("GET", path)).body.items;
  const until = (state: string): Promise<readonly Told[]> =>
    api.until(async () => {
      const items = await deliveries();
      return items.length > 0 && items.every((each) => each.state === state) ? items : null;
    });
  return { model, path, until, deliveries, thread: new ThreadClient(api, name, "t1") };
}

it("[P137] [P139] a run's end is told once, by reference, signed, and to those who asked for it", async () => {
  const { thread, until } = await start("plain");
  await start("others");
  await start("failures", ["run.failed"]);
  const runId = await thread.send("hi");
  const run = await thread.ended(runId);
  const [told] = await until("delivered");
  expect(receiver.ids).toEqual([told?.message]);
  expect(receiver.posts[0]?.url).toBe("https://example.com/plain");
  expect(receiver.bodies[0]).toEqual({
    type: "run.completed",
    timestamp: expect.any(String),
    data: {
      tenant: "told",
      agent: "plain",
      thread: "t1",
      run: runId,
      seq: run.endSeq,
      finish: "stop",
    },
  });
  expect(JSON.stringify(receiver.posts)).not.toContain("a secret of the thread");
});

it("[P137] a process that dies behind a request tells it again, under the same id, and nothing twice that it noted", async () => {
  const { thread, until } = await start("dies");
  receiver.answer = (_post, count) => (count === 1 ? new Promise(() => undefined) : answered(200));
  await thread.ask("hi");
  await api.until(async () => (receiver.posts.length === 1 ? true : null));
  await abortAllDurableObjects();
  const [told] = await until("delivered");
  expect(receiver.ids).toEqual([told?.message, told?.message]);
  // A second run: what was told is told no more.
  await thread.ask("again");
  await api.until(async () => (receiver.posts.length === 3 ? true : null));
  expect(new Set(receiver.ids).size).toBe(2);
});

it("[P139] whoever answers slowly slows no run, and what is given up is sent again on request", async () => {
  const { thread, until, path, model } = await start("slow");
  let isGone = true;
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  receiver.answer = async (_post, count) => {
    if (count === 1) await held;
    return answered(isGone ? 410 : 200);
  };
  await thread.ask("one");
  await api.until(async () => (receiver.posts.length === 1 ? true : null));
  expect(await thread.ask("two")).toMatchObject({ status: "completed" });
  expect(model.requests).toHaveLength(2);
  release();
  const dead = await until("dead");
  const [webhook] = path.split("/").slice(-2);
  expect((await api.json("POST", `/v1/webhooks/${webhook}/enable`)).status).toBe(200);
  isGone = false;
  const { message } = dead.at(-1) ?? { message: "" };
  expect((await api.json("POST", `${path}/${message}/redeliver`)).status).toBe(202);
  await api.until(async () => {
    const { body } = await api.json<{ items: readonly Told[] }>("GET", `${path}?state=delivered`);
    return body.items.some((told) => told.message === message) ? true : null;
  });
});

it("[P138] an address inside is refused when it is given, and a foreign webhook is a missing one", async () => {
  const make = (url: string) => api.json("POST", "/v1/webhooks", { url, types: ["run.completed"] });
  for (const url of [
    "http://example.com",
    "https://169.254.169.254/x",
    "https://10.0.0.1",
    "https://a.internal",
  ])
    expect((await make(url)).status, url).toBe(400);
  const { path } = await start("foreign");
  const other = await Api.service("elsewhere");
  const [webhook] = path.split("/").slice(-2);
  expect((await other.json("GET", path)).status).toBe(404);
  expect((await other.json("DELETE", `/v1/webhooks/${webhook}`)).status).toBe(404);
  expect((await other.json("POST", `${path}/msg_a-1/redeliver`)).status).toBe(404);
  expect((await other.json("POST", `/v1/webhooks/${webhook}/rotate`)).status).toBe(404);
});
