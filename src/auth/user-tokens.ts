/**
 * User tokens: short-lived JWTs that a service key mints for one of its tenant's users (Z2).
 *
 * A token is never wider than its minter, neither at minting nor later: each use looks the minting key up again, so
 * revoking or narrowing a key takes its tokens along within the minute of Z1.
 */
import { sign, verify } from "hono/jwt";
import type { Clock } from "#ports/clock.ts";
import type { Ids } from "#ports/ids.ts";
import type { PrincipalId } from "#shared/ids.ts";
import type { Result } from "#shared/result.ts";
import { AppError } from "#shared/errors.ts";
import { isPrincipalId, isTenantId } from "#shared/ids.ts";
import { err, ok } from "#shared/result.ts";
import type { ApiKeys, Defer, KeyRefusal } from "./api-keys.ts";
import type { Principal, Scope } from "./principal.ts";
import { isScope, toScopes } from "./principal.ts";

export const MAX_TOKEN_TTL_SECONDS = 3_600;
const ISSUER = "holdfast";
const AUDIENCE = "holdfast:api";
/** HS256 is no stronger than its secret: 32 characters is the size of its digest. */
const MIN_SECRET_LENGTH = 32;
/** Far above any token of ours; stops a long header before it is decoded. */
const MAX_TOKEN_LENGTH = 4_096;
/** What a user may ever hold. A user never mints, and never becomes an operator. */
const USER_SCOPES: readonly Scope[] = [
  "threads:read",
  "threads:write",
  "files:read",
  "files:write",
  "approvals:decide",
  "audit",
  "erase",
];
/** What a token gets when the request names no scopes: audit and erasure are asked for by name. */
const DEFAULT_SCOPES: readonly Scope[] = USER_SCOPES.slice(0, 5);

export type TokenRefusal =
  | "tokens_disabled"
  | "token_invalid"
  | "token_expired"
  | "token_claims_invalid"
  | KeyRefusal;
export type MintRefusal =
  | { readonly reason: "tokens_disabled" }
  | { readonly reason: "minter_not_allowed" }
  | { readonly reason: "user_id_invalid" }
  | { readonly reason: "ttl_invalid"; readonly maxSeconds: number }
  | { readonly reason: "scopes_too_wide"; readonly scopes: readonly string[] };

export interface MintRequest {
  readonly user: string;
  readonly ttlSeconds: number;
  /** Null: what a user usually needs, as far as the minter has it. */
  readonly scopes: readonly string[] | null;
}
export interface MintedToken {
  readonly token: string;
  readonly expiresAt: number;
  readonly scopes: readonly Scope[];
}
export interface UserTokensDeps {
  /** Null: this deployment mints and takes no user tokens. */
  readonly secret: string | null;
  readonly apiKeys: ApiKeys;
  readonly clock: Clock;
  readonly ids: Ids;
}

export class UserTokens {
  readonly #deps: UserTokensDeps;

  constructor(deps: UserTokensDeps) {
    if (deps.secret !== null && deps.secret.length < MIN_SECRET_LENGTH) {
      throw new AppError(
        "config_invalid",
        `HOLDFAST_TOKEN_SECRET needs at least ${MIN_SECRET_LENGTH} characters.`,
      );
    }
    this.#deps = deps;
  }

  async mint(minter: Principal, request: MintRequest): Promise<Result<MintedToken, MintRefusal>> {
    if (minter.kind === "user" || !minter.scopes.includes("tokens:mint")) {
      return err({ reason: "minter_not_allowed" });
    }
    const { secret } = this.#deps;
    if (secret === null) return err({ reason: "tokens_disabled" });
    if (!isUserId(request.user)) return err({ reason: "user_id_invalid" });
    const { ttlSeconds } = request;
    if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > MAX_TOKEN_TTL_SECONDS) {
      return err({ reason: "ttl_invalid", maxSeconds: MAX_TOKEN_TTL_SECONDS });
    }
    const grantable = USER_SCOPES.filter((scope) => minter.scopes.includes(scope));
    const wanted = request.scopes ?? DEFAULT_SCOPES.filter((scope) => grantable.includes(scope));
    const scopes = grantable.filter((scope) => wanted.includes(scope));
    const refused = wanted.filter((scope) => !isScope(scope) || !grantable.includes(scope));
    if (refused.length > 0) return err({ reason: "scopes_too_wide", scopes: refused });

    const issuedAt = Math.floor(this.#deps.clock.now() / 1_000);
    const exp = issuedAt + ttlSeconds;
    const claims = {
      iss: ISSUER,
      aud: AUDIENCE,
      sub: request.user,
      tenant: minter.tenant,
      minter: minter.id,
      scopes: scopes.join(" "),
      iat: issuedAt,
      exp,
      jti: this.#deps.ids.next("req"),
    };
    const token = await sign(claims, secret, "HS256");
    return ok({ token, expiresAt: exp * 1_000, scopes });
  }

  async verify(token: string, defer: Defer): Promise<Result<Principal, TokenRefusal>> {
    const claims = await this.#claims(token);
    if (!claims.ok) return claims;
    const { tenant, sub, minter, scopes, exp } = claims.value;
    if (exp * 1_000 <= this.#deps.clock.now()) return err("token_expired");
    const key = await this.#deps.apiKeys.findById(minter, defer);
    if (!key.ok) return key;
    if (key.value.tenant !== tenant) return err("token_claims_invalid");
    const held = toScopes(key.value.scopes);
    // A minter that may no longer mint no longer vouches either.
    if (!held.includes("tokens:mint")) return err("token_claims_invalid");
    return ok({
      tenant: key.value.tenant,
      kind: "user",
      id: sub,
      roles: [],
      scopes: USER_SCOPES.filter((scope) => scopes.includes(scope) && held.includes(scope)),
      onBehalfOf: null,
      credential: { keyId: minter, expiresAt: exp * 1_000 },
    });
  }

  async #claims(token: string): Promise<Result<Claims, TokenRefusal>> {
    const { secret } = this.#deps;
    if (secret === null) return err("tokens_disabled");
    if (token.length > MAX_TOKEN_LENGTH) return err("token_invalid");
    let payload: { readonly [claim: string]: unknown };
    try {
      // Times are checked against the injected clock, not the host's.
      const own = { exp: false, nbf: false, iat: false };
      payload = await verify(token, secret, { alg: "HS256", iss: ISSUER, aud: AUDIENCE, ...own });
    } catch {
      return err("token_invalid");
    }
    const claims = parseClaims(payload);
    return claims === null ? err("token_claims_invalid") : ok(claims);
  }
}

interface Claims {
  readonly sub: PrincipalId;
  readonly tenant: string;
  readonly minter: string;
  readonly scopes: readonly string[];
  readonly exp: number;
}

function parseClaims(payload: { readonly [claim: string]: unknown }): Claims | null {
  const { sub, tenant, minter, scopes, exp } = payload;
  if (typeof sub !== "string" || !isUserId(sub)) return null;
  if (typeof tenant !== "string" || !isTenantId(tenant)) return null;
  if (typeof minter !== "string" || !isPrincipalId(minter)) return null;
  if (typeof scopes !== "string" || typeof exp !== "number" || !Number.isSafeInteger(exp))
    return null;
  return { sub, tenant, minter, scopes: scopes.split(" "), exp };
}

/** A user called like a key would own what the key owns. */
function isUserId(value: string): value is PrincipalId {
  return isPrincipalId(value) && !value.startsWith("key_");
}
