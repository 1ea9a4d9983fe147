import { describe } from "vitest";
import { D1KeyStore } from "#adapters/key-store/d1-key-store.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { MemoryKeyStore } from "#test/support/memory-key-store.ts";
import { keyStoreContract } from "./key-store.ts";

describe("D1KeyStore", () =>
  keyStoreContract((records) => {
    const { d1, sqlite } = createNodeD1();
    sqlite.exec("insert into tenants values ('acme', 'Acme', null, 1)");
    const insert = sqlite.prepare("insert into api_keys values (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const [hash, key] of records) {
      insert.run(
        key.id,
        key.tenant,
        key.kind,
        key.name,
        hash,
        key.scopes.join(" "),
        key.createdAt,
        key.expiresAt,
        key.revokedAt,
      );
    }
    return new D1KeyStore(d1);
  }));

describe("MemoryKeyStore", () =>
  keyStoreContract((records) => {
    const store = new MemoryKeyStore();
    for (const [hash, key] of records) store.set(hash, key);
    return store;
  }));
