/** The outbox on its way to webhooks, over a real log: what is not stored comes again, and what comes again is the same. */
import { expect, it } from "vitest";
import { D1WebhookStore } from "#adapters/hooks/d1-webhook-store.ts";
import { webhookConsumer } from "#durable-objects/agent/outbox-webhooks.ts";
import type { Delivery } from "#ports/webhook-store.ts";
import { webhook } from "#test/contracts/webhook-store.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { say, ScriptModel } from "#test/support/scripted-model.ts";
import { ThreadHarness } from "#test/support/thread-harness.ts";

type Put = (store: D1WebhookStore, deliveries: readonly Delivery[]) => Promise<void>;

/** A thread whose run has ended, and a store that puts as it is told, one time after the other. */
async function setUp(...puts: readonly Put[]) {
  const thread = new ThreadHarness({ model: new ScriptModel([say("done")]) });
  const store = new D1WebhookStore(createNodeD1().d1);
  await store.add(webhook({ tenant: thread.address.tenant }));
  thread.send("go");
  await thread.finish();
  const did: string[] = [];
  let count = 0;
  const put = async (deliveries: readonly Delivery[]): Promise<void> => {
    did.push("put");
    const next = puts[count++];
    await (next === undefined ? store.put(deliveries) : next(store, deliveries));
  };
  const list = store.list.bind(store);
  const waits = (): number => {
    did.push("remembered");
    return thread.clock.now();
  };
  const consumer = webhookConsumer(thread.address, { list, put }, waits);
  const drain = async (): Promise<void> => {
    while (await thread.log.drain([consumer]));
  };
  const told = () =>
    store.deliveries({ tenant: thread.address.tenant, webhook: "whk_1" }, "waiting");
  return { thread, did, drain, told };
}

it("[P137] what could not be stored is not passed over: the next time it is", async () => {
  const away = () => Promise.reject(new Error("away"));
  const { thread, did, drain, told } = await setUp(away);
  await drain().catch(() => undefined);
  expect(await told()).toEqual([]);
  await drain();
  const [ended] = thread.of("run.completed");
  expect(await told()).toMatchObject([{ type: "run.completed", seq: ended?.header.seq }]);
  // That there is something comes first: a process that dies behind the store comes back for it.
  expect(did).toEqual(["remembered", "put", "remembered", "put"]);
  await drain();
  expect(did).toHaveLength(4);
});

it("[P137] what was stored by a process that died before it could say so is one delivery, under the same id", async () => {
  const { drain, told } = await setUp(async (store, deliveries) => {
    await store.put(deliveries);
    throw new Error("killed");
  });
  await drain().catch(() => undefined);
  const first = await told();
  expect(first).toHaveLength(1);
  await drain();
  expect(await told()).toEqual(first);
});
