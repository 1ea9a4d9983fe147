import { sign } from "hono/jwt";
import { beforeEach, describe, expect, it } from "vitest";
import { NodeHasher } from "#adapters/hasher/node-hasher.ts";
import { createAuth } from "#auth/authenticate.ts";
import type { Auth } from "#auth/authenticate.ts";
import type { Principal } from "#auth/principal.ts";
import { toScopes } from "#auth/principal.ts";
import type { KeyRecord } from "#ports/key-store.ts";
import type { PrincipalId, TenantId } from "#shared/ids.ts";
import { trusted } from "#shared/ids.ts";
import { utf8 } from "#shared/json.ts";
import { ManualClock } from "#test/support/manual-clock.ts";
import { MemoryKeyStore } from "#test/support/memory-key-store.ts";
import { SeededIds } from "#test/support/seeded-ids.ts";

const SECRET = "a secret of tests that is long enough";
const hasher = new NodeHasher();
const KEY_HASH = hasher.sha256(utf8("any"));
const RECORD: KeyRecord = {
  id: "key_1",
  tenant: trusted<TenantId>("acme"),
  kind: "service",
  name: "backend",
  scopes: ["threads:read", "threads:write", "files:read", "tokens:mint", "audit"],
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
};

let clock: ManualClock;
let store: MemoryKeyStore;
let auth: Auth;
beforeEach(() => {
  clock = new ManualClock();
  store = new MemoryKeyStore();
  store.set(KEY_HASH, RECORD);
  auth = createAuth({ keys: store, hasher, clock, ids: new SeededIds(), tokenSecret: SECRET });
});

function minter(over: Partial<Principal> = {}): Principal {
  const id = trusted<PrincipalId>(RECORD.id);
  const scopes = toScopes(RECORD.scopes);
  return {
    tenant: RECORD.tenant,
    kind: "service",
    id,
    roles: [],
    scopes,
    onBehalfOf: null,
    credential: { keyId: id, expiresAt: null },
    ...over,
  };
}
const verify = (token: string) => auth.authenticate(`Bearer ${token}`, () => {});
async function mint(
  user = "u1",
  ttlSeconds = 60,
  scopes: readonly string[] | null = null,
): Promise<string> {
  const minted = await auth.userTokens.mint(minter(), { user, ttlSeconds, scopes });
  if (!minted.ok) throw new Error(minted.error.reason);
  return minted.value.token;
}
function claims(over: Record<string, unknown> = {}) {
  const now = Math.floor(clock.now() / 1_000);
  const base = { iss: "holdfast", aud: "holdfast:api", sub: "u1", tenant: "acme", minter: "key_1" };
  return { ...base, scopes: "threads:read", iat: now, exp: now + 60, jti: "j", ...over };
}

describe("minting", () => {
  it("[Z2] a minted token is its user, in the tenant of its key", async () => {
    expect(await verify(await mint("u1"))).toEqual({
      ok: true,
      value: {
        tenant: "acme",
        kind: "user",
        id: "u1",
        roles: [],
        scopes: ["threads:read", "threads:write", "files:read"],
        onBehalfOf: null,
        credential: { keyId: RECORD.id, expiresAt: clock.now() + 60_000 },
      },
    });
  });

  it("[Z2] audit is granted only when asked for by name, and only when the minter has it", async () => {
    expect(await verify(await mint("u1", 60, ["audit"]))).toMatchObject({
      value: { scopes: ["audit"] },
    });
    const refused = await auth.userTokens.mint(minter(), {
      user: "u1",
      ttlSeconds: 60,
      scopes: ["audit", "erase", "files:write"],
    });
    expect(refused).toEqual({
      ok: false,
      error: { reason: "scopes_too_wide", scopes: ["erase", "files:write"] },
    });
  });

  it.each(["tokens:mint", "admin", "made:up"])("[Z2] no token ever carries %s", async (scope) => {
    const operator = minter({ kind: "operator", scopes: toScopes(["admin"]) });
    const minted = await auth.userTokens.mint(operator, {
      user: "u1",
      ttlSeconds: 60,
      scopes: [scope],
    });
    expect(minted).toEqual({ ok: false, error: { reason: "scopes_too_wide", scopes: [scope] } });
  });

  it.each([0, -1, 3_601, 1.5, Number.NaN, Infinity])(
    "[Z2] a lifetime of %d seconds is refused",
    async (ttlSeconds) => {
      const minted = await auth.userTokens.mint(minter(), { user: "u1", ttlSeconds, scopes: null });
      expect(minted).toEqual({ ok: false, error: { reason: "ttl_invalid", maxSeconds: 3_600 } });
    },
  );

  it.each(["", "key_1", "key_", "a b", "ada@example.org", "a/b", "-x", "u".repeat(65)])(
    "[Z4] a user cannot be called %j, so no user shares an id with a key",
    async (user) => {
      const minted = await auth.userTokens.mint(minter(), { user, ttlSeconds: 60, scopes: null });
      expect(minted).toEqual({ ok: false, error: { reason: "user_id_invalid" } });
    },
  );

  it("[Z2] neither a user nor a key without tokens:mint mints", async () => {
    for (const principal of [minter({ kind: "user" }), minter({ scopes: ["threads:read"] })]) {
      const minted = await auth.userTokens.mint(principal, {
        user: "u1",
        ttlSeconds: 60,
        scopes: null,
      });
      expect(minted).toEqual({ ok: false, error: { reason: "minter_not_allowed" } });
    }
  });
});

describe("verification", () => {
  it("[Z2] ends with the second it names", async () => {
    const token = await mint("u1", 60);
    clock.advance(59_999);
    expect(await verify(token)).toMatchObject({ ok: true });
    clock.advance(1);
    expect(await verify(token)).toEqual({ ok: false, error: "token_expired" });
  });

  it("[Z1] falls with its minting key within 60 s", async () => {
    const token = await mint("u1", 3_600);
    expect(await verify(token)).toMatchObject({ ok: true });
    store.set(KEY_HASH, { ...RECORD, revokedAt: clock.now() });
    clock.advance(60_000);
    expect(await verify(token)).toEqual({ ok: false, error: "key_revoked" });
  });

  it("[Z2] narrows when its minting key is narrowed", async () => {
    const token = await mint("u1", 3_600);
    store.set(KEY_HASH, { ...RECORD, scopes: ["threads:read", "tokens:mint"] });
    expect(await verify(token)).toMatchObject({ value: { scopes: ["threads:read"] } });
    store.set(KEY_HASH, { ...RECORD, scopes: ["threads:read"] });
    clock.advance(60_000);
    expect(await verify(token)).toEqual({ ok: false, error: "token_claims_invalid" });
  });

  it.each([
    [
      "another secret",
      async () => sign(claims(), "another secret of the same length....", "HS256"),
    ],
    ["another algorithm", async () => sign(claims(), SECRET, "HS512")],
    [
      "no algorithm",
      async () => `${btoa('{"alg":"none","typ":"JWT"}')}.${btoa(JSON.stringify(claims()))}.`,
    ],
    ["another issuer", async () => sign(claims({ iss: "somebody" }), SECRET, "HS256")],
    ["another audience", async () => sign(claims({ aud: "somewhere" }), SECRET, "HS256")],
    ["no audience", async () => sign(claims({ aud: undefined }), SECRET, "HS256")],
    [
      "changed claims",
      async () =>
        (await sign(claims(), SECRET, "HS256")).replace(
          /\.[^.]+\./,
          `.${btoa(JSON.stringify(claims({ sub: "u2" })))}.`,
        ),
    ],
    ["too much text", async () => "a".repeat(5_000)],
    ["not a token", async () => "a.b.c"],
  ])("[Z1] a token with %s is refused", async (_name, token) => {
    expect(await verify(await token())).toEqual({ ok: false, error: "token_invalid" });
  });

  it.each([
    ["tenant", { tenant: "../acme" }],
    ["tenant", { tenant: "Acme" }],
    ["tenant", { tenant: undefined }],
    ["other tenant", { tenant: "other" }],
    ["subject", { sub: "key_1" }],
    ["subject", { sub: undefined }],
    ["expiry", { exp: undefined }],
    ["expiry", { exp: "9999999999" }],
    ["scopes", { scopes: ["admin"] }],
    ["minter", { minter: 7 }],
  ])("[Z2] a signed token with a wrong %s is refused: %j", async (_name, over) => {
    const token = await sign(claims(over), SECRET, "HS256");
    expect(await verify(token)).toEqual({ ok: false, error: "token_claims_invalid" });
  });

  it("[Z2] scopes beyond a user's are dropped even from a signed token", async () => {
    const token = await sign(
      claims({ scopes: "threads:read tokens:mint admin files:write" }),
      SECRET,
      "HS256",
    );
    expect(await verify(token)).toMatchObject({ value: { scopes: ["threads:read"] } });
  });
});

describe("configuration", () => {
  it("[Z2] a short secret is refused at start", () => {
    const deps = { keys: store, hasher, clock, ids: new SeededIds() };
    expect(() => createAuth({ ...deps, tokenSecret: "short" })).toThrow(/HOLDFAST_TOKEN_SECRET/);
  });

  it("[Z2] without a secret nothing is minted and no token is taken", async () => {
    const token = await mint("u1");
    const deps = { keys: store, hasher, clock, ids: new SeededIds() };
    const closed = createAuth({ ...deps, tokenSecret: null });
    expect(await closed.authenticate(`Bearer ${token}`, () => {})).toEqual({
      ok: false,
      error: "tokens_disabled",
    });
    const minted = await closed.userTokens.mint(minter(), {
      user: "u1",
      ttlSeconds: 60,
      scopes: null,
    });
    expect(minted).toEqual({ ok: false, error: { reason: "tokens_disabled" } });
  });
});
