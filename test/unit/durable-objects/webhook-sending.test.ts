/** What becomes of a delivery over hours, with time in the test's hands and a receiver that answers as it is told. */
import { expect, it } from "vitest";
import { D1WebhookStore } from "#adapters/hooks/d1-webhook-store.ts";
import { WebCryptoSecretBox } from "#adapters/secret-box/web-crypto-secret-box.ts";
import { sendDue } from "#durable-objects/agent/webhook-sending.ts";
import type { Delivery, Webhook } from "#ports/webhook-store.ts";
import { utf8 } from "#shared/json.ts";
import { checkSignature, newSecret } from "#shared/webhook-signatures.ts";
import { delivery, webhook } from "#test/contracts/webhook-store.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { answered, MemoryReceiver } from "#test/support/memory-receiver.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";

const HOUR = 3_600_000;
const SECRET = newSecret(new Uint8Array(32).fill(1));
const LOG = { tenant: webhook().tenant, log: "log_1" };

async function setUp(...deliveries: readonly Delivery[]) {
  const clock = new ManualClock();
  const store = new D1WebhookStore(createNodeD1().d1);
  const box = new WebCryptoSecretBox("a secret of tests that is long enough");
  const receiver = new MemoryReceiver();
  const add = async (over: Partial<Webhook> = {}): Promise<void> => {
    const { id } = webhook(over);
    await store.add(webhook({ ...over, secret: await box.seal(SECRET, id) }));
  };
  await add();
  await store.put(deliveries.map((each) => ({ ...each, nextAt: clock.now() })));
  const send = () => sendDue({ store, box, sender: receiver, clock }, LOG);
  /** Until nothing waits; answers the times between attempts. */
  const exhaust = async (): Promise<readonly number[]> => {
    const waits: number[] = [];
    for (let next = await send(); next !== null; next = await send()) {
      waits.push(next - clock.now());
      clock.set(next);
    }
    return waits;
  };
  const of = (seq = 1) => store.delivery(delivery(seq));
  const hook = () => store.find(LOG.tenant, "whk_1");
  return { clock, store, box, receiver, add, send, exhaust, of, hook };
}

it("[P137] is signed anew with each attempt, over id, time and body, by each secret that holds", async () => {
  const { clock, store, box, receiver, exhaust } = await setUp(delivery(1));
  const next = newSecret(new Uint8Array(32).fill(2));
  await store.change(LOG.tenant, "whk_1", {
    secret: await box.seal(next, "whk_1"),
    previous: await box.seal(SECRET, "whk_1"),
    previousUntil: clock.now() + 1_000,
  });
  receiver.answer = (_post, count) => answered(count === 1 ? 500 : 200);
  const started = clock.now();
  await exhaust();
  const times = [started, clock.now()];
  const held = [[SECRET, next], [next]];
  for (const [index, { headers, body }] of receiver.posts.entries()) {
    const signed = { header: (name: string) => headers[name] ?? null, body: utf8(body) };
    for (const secret of [SECRET, next]) {
      const checked = await checkSignature("standard", signed, {
        secrets: [secret],
        now: times[index] ?? 0,
      });
      expect(checked.ok).toBe(held[index]?.includes(secret));
    }
  }
  expect(receiver.ids).toEqual(["msg_log_1-1", "msg_log_1-1"]);
});

it("[P138] what fails is tried again over a day, then given up and shown; the webhook is told no more", async () => {
  const { receiver, exhaust, of, hook, send, store, clock } = await setUp(delivery(1));
  receiver.answer = () => answered(503);
  const waits = await exhaust();
  expect(waits).toEqual([5_000, 300_000, 1_800_000, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]);
  expect(receiver.posts).toHaveLength(8);
  expect(await of()).toMatchObject({ state: "dead", attempts: 8, lastStatus: 503, nextAt: null });
  expect(await hook()).toMatchObject({ disabledReason: "it took nothing for a day" });
  // Nobody is asked any more.
  await store.put([delivery(2, { nextAt: clock.now() })]);
  await send();
  expect(receiver.posts).toHaveLength(8);
  expect(await of(2)).toMatchObject({ state: "dead", lastError: "the webhook is disabled" });
});

it("[P138] a time that the other side asks for is kept, and one success ends the count of failures", async () => {
  const { receiver, exhaust, of, hook } = await setUp(delivery(1));
  receiver.answer = (_post, count) => (count === 1 ? answered(429, 60_000) : answered(204));
  expect(await exhaust()).toEqual([60_000]);
  expect(await of()).toMatchObject({ state: "delivered", attempts: 2, lastStatus: 204 });
  expect(await hook()).toMatchObject({ failingSince: null, disabledAt: null });
});

it.each([
  ["410 Gone", answered(410), "it answered 410 Gone"],
  [
    "an address that is never called",
    { type: "failed", reason: "address_refused", message: "is inside" } as const,
    null,
  ],
])("[P138] %s is given up at once", async (_what, outcome, disabledReason) => {
  const { receiver, exhaust, of, hook } = await setUp(delivery(1));
  receiver.answer = () => outcome;
  expect(await exhaust()).toEqual([]);
  expect(receiver.posts).toHaveLength(1);
  expect(await of()).toMatchObject({ state: "dead", attempts: 1 });
  expect(await hook()).toMatchObject({ disabledReason });
});

it("[P139] first attempts of a thread go in the order of its log; one that fails holds up none behind it, nor another webhook", async () => {
  const { receiver, add, store, clock, exhaust } = await setUp(
    ...[3, 1, 2].map((seq) => delivery(seq)),
  );
  await add({ id: "whk_2", url: "https://example.com/other" });
  await store.put([delivery(1, { webhook: "whk_2", nextAt: clock.now() })]);
  let hold: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (hold = resolve));
  receiver.answer = async ({ url }, count) => {
    if (url.endsWith("other")) hold();
    // The first webhook answers once the other one was told.
    else await held;
    return answered(count <= 2 ? 500 : 200);
  };
  await exhaust();
  const mine = receiver.posts.filter(({ url }) => url.endsWith("/in"));
  expect(mine.map(({ headers }) => headers["webhook-id"]).slice(0, 3)).toEqual([
    "msg_log_1-1",
    "msg_log_1-2",
    "msg_log_1-3",
  ]);
});
