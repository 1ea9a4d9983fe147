import { beforeEach, describe, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { ApiKeys, KEY_TTL_MS } from "#auth/api-keys.ts";
import type { KeyRecord } from "#ports/key-store.ts";
import type { TenantId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { utf8 } from "#shared/json.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { MemoryKeyStore } from "#test/support/memory-key-store.ts";

const hasher = new NodeHasher();
const TEXT = `hf_${"a".repeat(43)}`;
const RECORD: KeyRecord = {
  id: "key_1",
  tenant: trusted<TenantId>("acme"),
  kind: "service",
  name: "backend",
  scopes: [],
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
};

let clock: ManualClock;
let store: MemoryKeyStore;
let apiKeys: ApiKeys;
let deferred: Promise<void>[];
const put = (over: Partial<KeyRecord> = {}) =>
  store.set(hasher.sha256(utf8(TEXT)), { ...RECORD, ...over });
const find = (text = TEXT) => apiKeys.findByText(text, (work) => deferred.push(work));

beforeEach(() => {
  clock = new ManualClock();
  store = new MemoryKeyStore();
  apiKeys = new ApiKeys({ keys: store, hasher, clock });
  deferred = [];
});

describe("ApiKeys", () => {
  it("[Z1] reads a known key once and answers from memory after that", async () => {
    put();
    for (let use = 0; use < 5; use += 1) expect(await find()).toEqual({ ok: true, value: RECORD });
    expect(store.lookups).toBe(1);
  });

  it("[Z1] a revoked key is refused at the latest 60 s after the store says so", async () => {
    put();
    await find();
    put({ revokedAt: clock.now() });
    clock.advance(KEY_TTL_MS);
    expect(await find()).toEqual({ ok: false, error: "key_revoked" });
  });

  it("[Z1] a key in steady use is read again in the background, and a revocation found so counts at once", async () => {
    put();
    await find();
    put({ revokedAt: clock.now() });
    clock.advance(KEY_TTL_MS / 2);
    for (const found of await Promise.all([find(), find()]))
      expect(found).toMatchObject({ ok: true });
    expect(deferred).toHaveLength(1);
    await Promise.all(deferred);
    expect(await find()).toEqual({ ok: false, error: "key_revoked" });
    expect(store.lookups).toBe(2);
  });

  it("[Z1] a background read that fails changes nothing until the minute is over, then the failure shows", async () => {
    put();
    await find();
    const failing = new ApiKeys({
      keys: {
        findByHash: async () => (store.lookups === 1 ? RECORD : Promise.reject(new Error("down"))),
        findById: async () => null,
      },
      hasher,
      clock,
    });
    await failing.findByText(TEXT, () => {});
    store.lookups = 2;
    clock.advance(KEY_TTL_MS / 2);
    expect(await failing.findByText(TEXT, (work) => deferred.push(work))).toMatchObject({
      ok: true,
    });
    await Promise.all(deferred);
    expect(await failing.findByText(TEXT, () => {})).toMatchObject({ ok: true });
    clock.advance(KEY_TTL_MS / 2);
    await expect(failing.findByText(TEXT, () => {})).rejects.toThrow("down");
  });

  it("[Z1] expiry is exact, whatever is cached", async () => {
    put({ expiresAt: clock.now() + 1_000 });
    expect(await find()).toMatchObject({ ok: true });
    clock.advance(999);
    expect(await find()).toMatchObject({ ok: true });
    clock.advance(1);
    expect(await find()).toEqual({ ok: false, error: "key_expired" });
    expect(store.lookups).toBe(1);
  });

  it("[Z1] an unknown key is remembered for ten seconds, so that guessing does not reach the store each time", async () => {
    expect(await find()).toEqual({ ok: false, error: "key_unknown" });
    put();
    expect(await find()).toEqual({ ok: false, error: "key_unknown" });
    expect(store.lookups).toBe(1);
    clock.advance(10_000);
    expect(await find()).toMatchObject({ ok: true });
  });

  it("[Z1] a flood of made-up keys neither evicts a real one nor grows without end", async () => {
    put();
    await find();
    for (let guess = 0; guess < 3_000; guess += 1)
      await find(`hf_${String(guess).padStart(43, "x")}`);
    expect(store.lookups).toBe(3_001);
    await find();
    expect(store.lookups).toBe(3_001);
    // The oldest guess was forgotten: it costs a lookup again.
    await find(`hf_${"0".padStart(43, "x")}`);
    expect(store.lookups).toBe(3_002);
  });

  it.each([
    "",
    "hf_",
    "hf_short",
    `hf_${"a".repeat(44)}`,
    `hf_${"a".repeat(42)}!`,
    `xx_${"a".repeat(43)}`,
  ])("[Z1] what is not a key is refused without a lookup: %j", async (text) => {
    expect(await find(text)).toEqual({ ok: false, error: "key_malformed" });
    expect(store.lookups).toBe(0);
  });
});
