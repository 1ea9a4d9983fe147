/** What every KeyStore keeps. Run it with a factory that stores the given records under their hashes. */
import { expect, it } from "vitest";
import type { KeyRecord, KeyStore } from "#ports/key-store.ts";
import type { TenantId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";

const active: KeyRecord = {
  id: "key_active",
  tenant: trusted<TenantId>("acme"),
  kind: "service",
  name: "backend",
  scopes: ["threads:read", "tokens:mint"],
  createdAt: 100,
  expiresAt: null,
  revokedAt: null,
};
const revoked: KeyRecord = {
  ...active,
  id: "key_revoked",
  kind: "operator",
  scopes: [],
  expiresAt: 500,
  revokedAt: 200,
};

export function keyStoreContract(
  createStore: (records: ReadonlyMap<string, KeyRecord>) => KeyStore,
): void {
  const records = new Map([
    ["a".repeat(64), active],
    ["b".repeat(64), revoked],
  ]);

  it("[Z1] finds a key by the hash of its text and by its id, revoked ones included", async () => {
    const store = createStore(records);
    expect(await store.findByHash("a".repeat(64))).toEqual(active);
    expect(await store.findByHash("b".repeat(64))).toEqual(revoked);
    expect(await store.findById("key_revoked")).toEqual(revoked);
  });

  it("[Z1] an unknown hash or id is null", async () => {
    const store = createStore(records);
    expect(await store.findByHash("c".repeat(64))).toBeNull();
    expect(await store.findById("key_missing")).toBeNull();
    expect(await store.findByHash("key_active")).toBeNull();
  });
}
