/**
 * OAuth tokens to principals: the same rights as whoever consented has now, cut to what they granted (P87).
 *
 * A token is never wider than the key behind it, at consent and later: each use looks the key up again, so revoking or
 * narrowing the key takes its grants along within the minute of Z1.
 */
import type { GrantedToken } from "#ports/oauth-server.ts";
import { trusted, type PrincipalId } from "#shared/ids.ts";
import type { ApiKeys, Defer } from "./api-keys.ts";
import { toScopes, type Principal, type Scope } from "./principal.ts";

/** What an app may be granted. It never mints, operates or administers. */
export const OAUTH_SCOPES: readonly Scope[] = [
  "threads:read",
  "threads:write",
  "files:read",
  "files:write",
  "approvals:decide",
];
/** What any use of an agent needs; a client asks for these first. */
export const BASE_SCOPES: readonly Scope[] = ["threads:read", "threads:write"];

export type GrantToPrincipal = (token: GrantedToken, defer: Defer) => Promise<Principal | null>;

export function createGrants(apiKeys: ApiKeys): GrantToPrincipal {
  return async ({ holder, scopes, expiresAt }, defer) => {
    const key = await apiKeys.findById(holder.keyId, defer);
    if (!key.ok || key.value.tenant !== holder.tenant) return null;
    const held = toScopes(key.value.scopes);
    // A minter that may no longer mint no longer vouches either (Z2).
    if (holder.kind === "user" && !held.includes("tokens:mint")) return null;
    return {
      tenant: key.value.tenant,
      kind: holder.kind,
      id: trusted<PrincipalId>(holder.id),
      roles: [],
      scopes: OAUTH_SCOPES.filter((scope) => scopes.includes(scope) && held.includes(scope)),
      onBehalfOf: null,
      credential: { keyId: holder.keyId, expiresAt },
    };
  };
}
