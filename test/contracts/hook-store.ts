/** The contract of HookStore: the first claim of an event is everybody's, and is kept for as long as senders try. */
import { expect, it } from "vitest";
import { EVENT_DAYS, type Hook, type HookEvent, type HookStore } from "#ports/hook-store.ts";
import { trusted, type AgentName, type TenantId, type ThreadId } from "#shared/ids.ts";

const DAY_MS = 86_400_000;
const tenant = trusted<TenantId>("acme");
const other = trusted<TenantId>("other");
const hook: Hook = {
  id: "hook_1",
  tenant,
  app: "shop",
  agent: trusted<AgentName>("clerk"),
  thread: { type: "pointer", pointer: "/customer/id" },
  scheme: "stripe",
  secret: "sealed-1",
  previous: null,
  previousUntil: null,
  createdAt: 1,
  createdBy: "key_1",
};
const event = (over: Partial<HookEvent> = {}): HookEvent => ({
  tenant,
  app: "shop",
  event: "e1",
  hook: "hook_1",
  agent: trusted<AgentName>("clerk"),
  thread: trusted<ThreadId>("t1"),
  receivedAt: 1_000,
  isDelivered: false,
  ...over,
});

export function hookStoreContract(open: () => HookStore): void {
  it("[P132] of one event the first claim is answered to all, and remembers that it was delivered", async () => {
    const store = open();
    expect(await store.claim(event())).toEqual(event());
    const again = event({ hook: "hook_2", thread: trusted("t2"), receivedAt: 2_000 });
    expect(await store.claim(again)).toEqual(event());
    await store.delivered(event());
    expect(await store.claim(again)).toEqual(event({ isDelivered: true }));
    const others = [event({ app: "q" }), event({ event: "e2" }), event({ tenant: other })];
    for (const each of others) expect(await store.claim(each)).toEqual(each);
  });

  it("[P132] an event is known for as long as any sender tries, and forgotten some time after", async () => {
    const store = open();
    await store.claim(event());
    await store.delivered(event());
    const kept = 1_000 + EVENT_DAYS * DAY_MS;
    await store.claim(event({ event: "e2", receivedAt: kept }));
    expect(await store.claim(event({ receivedAt: kept }))).toMatchObject({ isDelivered: true });
    await store.claim(event({ event: "e3", receivedAt: kept + 1 }));
    expect(await store.claim(event({ receivedAt: kept + 2 }))).toMatchObject({
      isDelivered: false,
    });
  });

  it("[P135] a hook is its tenant's own: found by its id, listed, rotated and removed", async () => {
    const store = open();
    await store.add(hook);
    expect(await store.find("hook_1")).toEqual(hook);
    expect(await store.list(tenant)).toEqual([hook]);
    expect(await store.list(other)).toEqual([]);
    const secrets = { secret: "sealed-2", previous: "sealed-1", previousUntil: 9 };
    expect(await store.rotate({ ...hook, ...secrets, tenant: other })).toBe(false);
    expect(await store.rotate({ ...hook, ...secrets })).toBe(true);
    expect(await store.find("hook_1")).toEqual({ ...hook, ...secrets });
    expect(await store.remove(other, "hook_1")).toBe(false);
    expect(await store.remove(tenant, "hook_1")).toBe(true);
    expect(await store.find("hook_1")).toBeNull();
  });
}
