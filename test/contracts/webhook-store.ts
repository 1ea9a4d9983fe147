/** The contract of WebhookStore: a delivery is put once, comes in the order of its log, and goes with its webhook. */
import { expect, it } from "vitest";
import type { Delivery, Webhook, WebhookStore } from "#ports/webhook-store.ts";
import { trusted, type TenantId } from "#shared/ids.ts";

const tenant = trusted<TenantId>("acme");
const other = trusted<TenantId>("other");
export const webhook = (over: Partial<Webhook> = {}): Webhook => ({
  tenant,
  id: "whk_1",
  url: "https://example.com/in",
  agent: null,
  types: ["run.completed", "run.failed"],
  secret: "sealed",
  previous: null,
  previousUntil: null,
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  createdAt: 1,
  createdBy: "key_1",
  ...over,
});
export const delivery = (seq: number, over: Partial<Delivery> = {}): Delivery => ({
  tenant,
  webhook: "whk_1",
  message: `msg_log_1-${seq}`,
  log: "log_1",
  seq,
  type: "run.completed",
  body: `{"seq":${seq}}`,
  state: "waiting",
  attempts: 0,
  nextAt: 100,
  lastStatus: null,
  lastError: null,
  createdAt: seq,
  ...over,
});

export function webhookStoreContract(open: () => WebhookStore): void {
  const log = { tenant, log: "log_1" };

  it("[P137] a delivery is put once, whatever became of it, and comes when it is due, in the order of its log", async () => {
    const store = open();
    const all = Array.from({ length: 9 }, (_, index) => delivery(9 - index));
    await store.put([...all, delivery(1, { log: "log_2", message: "msg_log_2-1" })]);
    await store.progress(delivery(1), {
      state: "delivered",
      attempts: 1,
      nextAt: null,
      lastStatus: 200,
      lastError: null,
    });
    await store.put([delivery(1), delivery(10, { nextAt: 200 })]);
    expect(await store.due(log, 99)).toEqual([]);
    expect((await store.due(log, 100)).map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await store.nextAt(log)).toBe(100);
    expect(await store.nextAt({ tenant: other, log: "log_1" })).toBeNull();
    expect(await store.delivery(delivery(1))).toMatchObject({ state: "delivered", attempts: 1 });
    const list = await store.deliveries({ tenant, webhook: "whk_1" }, "delivered");
    expect(list.map(({ seq }) => seq)).toEqual([1]);
    expect(await store.deliveries({ tenant: other, webhook: "whk_1" }, null)).toEqual([]);
  });

  it("[P139] a webhook is its tenant's own: found, listed, changed, and removed with its deliveries", async () => {
    const store = open();
    await store.add(webhook());
    expect(await store.list(tenant)).toEqual([webhook()]);
    expect(await store.list(other)).toEqual([]);
    expect(await store.change(other, "whk_1", { disabledAt: 5 })).toBe(false);
    expect(await store.change(tenant, "whk_1", { disabledAt: 5 })).toBe(true);
    expect(await store.find(tenant, "whk_1")).toEqual(webhook({ disabledAt: 5 }));
    await store.put([delivery(1)]);
    expect(await store.remove(other, "whk_1")).toBe(false);
    expect(await store.remove(tenant, "whk_1")).toBe(true);
    expect(await store.find(tenant, "whk_1")).toBeNull();
    expect(await store.delivery(delivery(1))).toBeNull();
  });
}
