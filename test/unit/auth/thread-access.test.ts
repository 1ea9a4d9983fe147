import { beforeEach, describe, expect, it } from "vitest";
import { ThreadAccess } from "#auth/thread-access.ts";
import type { Caller } from "#ports/thread-gateway.ts";
import type { AgentName, TenantId, ThreadId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { FakeGateway } from "#test/support/fake-gateway.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { MemoryDirectory } from "#test/support/memory-directory.ts";

const place = { agent: trusted<AgentName>("analyst"), thread: trusted<ThreadId>("t1") };
const caller = (id: string, over: Partial<Caller> = {}): Caller => ({
  tenant: trusted<TenantId>("acme"),
  kind: "user",
  id,
  scopes: [],
  ...over,
});
const message = { text: "hello", delivery: "queue", output: null, messageId: null } as const;
const command = { message, idempotencyKey: null };

let gateway: FakeGateway;
let directory: MemoryDirectory;
let access: ThreadAccess;
beforeEach(() => {
  gateway = new FakeGateway();
  directory = new MemoryDirectory();
  access = new ThreadAccess({ gateway, directory, clock: new ManualClock() });
});

describe("ThreadAccess", () => {
  it("[Z7] a thread is registered before the command that creates it is acknowledged", async () => {
    const order: string[] = [];
    const register = directory.register.bind(directory);
    directory.register = async (record) => {
      order.push(`register, object has ${gateway.threads.size} threads`);
      return register(record);
    };
    expect(await access.send(caller("u1"), place, command)).toMatchObject({ ok: true });
    expect(order).toEqual(["register, object has 0 threads"]);
    expect(gateway.calls).toEqual([
      "send v1/acme/analyst/t1",
      "create v1/acme/analyst/t1",
      "send v1/acme/analyst/t1",
    ]);
  });

  it("[Z7] a failing directory creates nothing", async () => {
    directory.register = async () => Promise.reject(new Error("down"));
    await expect(access.send(caller("u1"), place, command)).rejects.toThrow("down");
    expect(gateway.threads.size).toBe(0);
  });

  it("[Z7] a command for a thread that exists asks the object only, also in a fresh isolate", async () => {
    await access.send(caller("u1"), place, command);
    const fresh = new ThreadAccess({ gateway, directory, clock: new ManualClock() });
    directory.calls = 0;
    gateway.calls.length = 0;
    await fresh.send(caller("u1"), place, command);
    expect(directory.calls).toBe(0);
    expect(gateway.calls).toEqual(["send v1/acme/analyst/t1"]);
  });

  it("[Z4] nobody takes over a registration whose creation was cut off; its owner completes it", async () => {
    const stub = access.stub(caller("u1"), place);
    gateway.thread = () => ({ ...stub, create: async () => Promise.reject(new Error("cut off")) });
    await expect(access.send(caller("u1"), place, command)).rejects.toThrow("cut off");
    gateway = new FakeGateway();
    access = new ThreadAccess({ gateway, directory, clock: new ManualClock() });
    expect(await access.send(caller("u2"), place, command)).toMatchObject({
      error: { code: "not_found" },
    });
    expect(gateway.threads.size).toBe(0);
    expect(await access.send(caller("u1"), place, command)).toMatchObject({ ok: true });
  });

  it("[Z5] a taken id is `not_found` for a user and `conflict` for a service of the tenant", async () => {
    await access.create(caller("u1"), place, { title: null, idempotencyKey: null });
    const again = { title: null, idempotencyKey: null };
    expect(await access.create(caller("u2"), place, again)).toMatchObject({
      error: { code: "not_found" },
    });
    const service = caller("key_1", { kind: "service" });
    expect(await access.create(service, place, again)).toMatchObject({
      error: { code: "conflict" },
    });
  });

  it("[Z3] two tenants with the same ids have two objects", async () => {
    await access.send(caller("u1"), place, command);
    await access.send(caller("u1", { tenant: trusted<TenantId>("zeta") }), place, command);
    expect([...gateway.threads.keys()]).toEqual(["v1/acme/analyst/t1", "v1/zeta/analyst/t1"]);
  });

  it("[K3] two first messages at once create one thread and lose neither", async () => {
    const sent = await Promise.all([
      access.send(caller("u1"), place, command),
      access.send(caller("u1"), place, command),
    ]);
    expect(sent.every((reply) => reply.ok)).toBe(true);
    expect(gateway.threads.get("v1/acme/analyst/t1")?.texts).toHaveLength(2);
  });
});
