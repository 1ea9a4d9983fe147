/** Whether sockets may go on: how often a key is asked for, and what its answer means. */
import { beforeEach, describe, expect, it } from "vitest";
import { Authority } from "#durable-objects/agent/sockets/authority.ts";
import { Connection } from "#durable-objects/agent/sockets/connection.ts";
import type { KeyRecord } from "#ports/key-store.ts";
import { trusted, type TenantId } from "#shared/ids.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { MemoryKeyStore } from "#test/support/memory-key-store.ts";

const MINUTE = 60_000;
const TENANT = trusted<TenantId>("acme");
const SCOPES = ["threads:read", "threads:write", "approvals:decide", "tokens:mint"];
const KEY: KeyRecord = {
  id: "key_1",
  tenant: TENANT,
  kind: "service",
  name: "test",
  scopes: SCOPES,
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
};

class Socket {
  readyState: number = WebSocket.OPEN;
  closed: number | null = null;
  close(code: number): void {
    this.closed = code;
  }
  serializeAttachment(): void {}
}

let clock: ManualClock;
let keys: MemoryKeyStore;
let faults: unknown[];
let authority: Authority;
beforeEach(() => {
  clock = new ManualClock();
  keys = new MemoryKeyStore();
  keys.set("h", KEY);
  faults = [];
  authority = new Authority({
    keys,
    now: () => clock.now(),
    failed: (error) => void faults.push(error),
  });
});

function open({
  kind = "service",
  expiresAt = null,
}: { kind?: "service" | "user"; expiresAt?: number | null } = {}) {
  const socket = new Socket();
  const connection = Connection.accept(socket as unknown as WebSocket, {
    bearer: {
      caller: { tenant: TENANT, kind, id: "key_1", scopes: SCOPES.slice(0, 3) },
      credential: { keyId: "key_1", expiresAt },
    },
    seq: 0,
    now: clock.now(),
  });
  return { socket, connection };
}
const change = (over: Partial<KeyRecord>): void => keys.set("h", { ...KEY, ...over });
const after = (ms: number): void => clock.set(clock.now() + ms);

describe("the authority of sockets", () => {
  it("[P37] asks at the first frame, then once a minute and key, however many sockets and frames", async () => {
    const all = Array.from({ length: 20 }, () => open().connection);
    for (let frame = 0; frame < 3; frame += 1) {
      const held = await Promise.all(all.map((connection) => authority.assure(connection)));
      expect(new Set(held)).toEqual(new Set([true]));
    }
    expect(keys.lookups).toBe(1);
    after(MINUTE - 1);
    expect(all.some((connection) => authority.isDue(connection))).toBe(false);
    after(1);
    await Promise.all(all.map((connection) => authority.assure(connection)));
    expect(keys.lookups).toBe(2);
  });

  it("[P37] a socket that opens late in a minute is not good for longer than its key was known to be", async () => {
    await authority.assure(open().connection);
    after(MINUTE - 1);
    const { connection } = open();
    expect(await authority.assure(connection)).toBe(true);
    after(1);
    expect(authority.isDue(connection)).toBe(true);
  });

  it.each([
    ["revoked", { revokedAt: 1 }, "service", 1008],
    ["of another tenant", { tenant: trusted<TenantId>("zeta") }, "service", 1008],
    ["without leave to write", { scopes: ["threads:read"] }, "service", 1008],
    ["that may not mint any more, of its user", { scopes: SCOPES.slice(0, 3) }, "user", 1008],
    ["past its time", { expiresAt: 1 }, "service", 1012],
  ] as const)("[P37] a key %s closes the socket", async (_, over, kind, code) => {
    const { socket, connection } = open({ kind });
    expect(await authority.assure(connection)).toBe(true);
    change(over);
    after(MINUTE);
    expect(await authority.assure(connection)).toBe(false);
    expect(socket.closed).toBe(code);
  });

  it("[P37] a token ends at its own time, within the minute too", async () => {
    const { socket, connection } = open({ kind: "user", expiresAt: clock.now() + 1_000 });
    expect(await authority.assure(connection)).toBe(true);
    after(999);
    expect(authority.isDue(connection)).toBe(false);
    after(1);
    expect(await authority.assure(connection)).toBe(false);
    expect([socket.closed, keys.lookups]).toEqual([1012, 1]);
  });

  it("[P37] a narrowed key narrows its sockets, and never widens them", async () => {
    const { connection } = open();
    change({ scopes: ["threads:write", "audit"] });
    expect(await authority.assure(connection)).toBe(true);
    expect(connection.caller.scopes).toEqual(["threads:write"]);
  });

  it("[P37] a store that cannot be read lets nobody stay, and is asked again", async () => {
    const fault = new Error("away");
    const failing = new Authority({
      keys: { findById: () => Promise.reject(fault) },
      now: () => clock.now(),
      failed: (error) => void faults.push(error),
    });
    const { socket, connection } = open();
    expect(await failing.assure(connection)).toBe(false);
    expect([socket.closed, faults]).toEqual([1013, [fault]]);
  });
});
