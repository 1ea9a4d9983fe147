import { describe, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { D1KeyStore } from "#adapters/key-store/d1-key-store.ts";
import { createAuth } from "#auth/authenticate.ts";
import { SCOPES } from "#auth/principal.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";
import { SeededIds } from "#test/support/seeded-ids.ts";
import { SCOPES as SCRIPT_SCOPES, createKey, revokeSql } from "../../../scripts/lib/api-key.mjs";

function deployment() {
  const { d1, sqlite } = createNodeD1();
  const clock = new ManualClock();
  const deps = {
    keys: new D1KeyStore(d1),
    hasher: new NodeHasher(),
    clock,
    ids: new SeededIds(),
    tokenSecret: null,
  };
  const login = (key: string) => createAuth(deps).authenticate(`Bearer ${key}`, () => {});
  return { sqlite, clock, login };
}
const wanted = { tenant: "acme", name: "the backend's key" };

describe("keys made by the script", () => {
  it("[Z1] log in after their SQL ran, and the database holds no text of them", async () => {
    const { sqlite, clock, login } = deployment();
    const { key, id, sql } = createKey(wanted, clock.now());
    expect(await login(key)).toEqual({ ok: false, error: "key_unknown" });
    sqlite.exec(sql);
    expect(await login(key)).toMatchObject({
      ok: true,
      value: {
        tenant: "acme",
        kind: "service",
        id,
        scopes: [
          "threads:read",
          "threads:write",
          "files:read",
          "files:write",
          "approvals:decide",
          "tokens:mint",
        ],
      },
    });
    expect(sql).not.toContain(key);
    expect(JSON.stringify(sqlite.prepare("select * from api_keys").all())).not.toContain(
      key.slice(3),
    );
  });

  it("[Z1] a second key of a tenant, an expiry and a revocation work", async () => {
    const { sqlite, clock, login } = deployment();
    const first = createKey({ ...wanted, kind: "operator" }, clock.now());
    const second = createKey(
      { ...wanted, scopes: ["threads:read"], expiresInDays: 1 },
      clock.now(),
    );
    for (const { sql } of [first, second]) sqlite.exec(sql);
    expect(await login(first.key)).toMatchObject({
      value: { kind: "operator", scopes: [...SCOPES] },
    });
    sqlite.exec(revokeSql(first.id, clock.now()));
    expect(await login(first.key)).toEqual({ ok: false, error: "key_revoked" });
    expect(await login(second.key)).toMatchObject({ ok: true });
    clock.advance(86_400_000);
    expect(await login(second.key)).toEqual({ ok: false, error: "key_expired" });
  });

  it("[Z1] the script knows exactly the scopes of the API", () => {
    expect(SCRIPT_SCOPES).toEqual([...SCOPES]);
  });

  it.each([
    [{ ...wanted, tenant: "Acme'; drop table api_keys; --" }],
    [{ ...wanted, name: " " }],
    [{ ...wanted, kind: "user" }],
    [{ ...wanted, scopes: ["everything"] }],
    [{ ...wanted, expiresInDays: 0 }],
    [{ ...wanted, expiresInDays: Number.NaN }],
  ])("[Z1] what makes no key is refused before any SQL: %j", (over) => {
    expect(() => createKey(over, 1)).toThrow(RangeError);
  });
});
