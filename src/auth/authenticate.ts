/**
 * Authentication: an Authorization header to a principal.
 *
 * The reason of a refusal is for the operator's log. A caller gets one and the same 401 whatever it was, so that
 * nobody learns whether a key exists, is revoked, or was merely mistyped.
 */
import type { Ids } from "#ports/ids.ts";
import type { PrincipalId } from "#shared/ids.ts";
import type { KeyRecord } from "#ports/key-store.ts";
import type { Result } from "#shared/result.ts";
import { trusted } from "#shared/ids.ts";
import { err, ok } from "#shared/result.ts";
import type { ApiKeysDeps, Defer } from "./api-keys.ts";
import { ApiKeys } from "./api-keys.ts";
import { createGrants, type GrantToPrincipal } from "./oauth-grants.ts";
import type { Principal } from "./principal.ts";
import { toScopes } from "./principal.ts";
import type { TokenRefusal } from "./user-tokens.ts";
import { UserTokens } from "./user-tokens.ts";

export type AuthRefusal = "credentials_missing" | "scheme_unsupported" | TokenRefusal;
export type Authenticate = (
  header: string | null,
  defer: Defer,
) => Promise<Result<Principal, AuthRefusal>>;

export interface AuthDeps extends ApiKeysDeps {
  readonly ids: Ids;
  /** HOLDFAST_TOKEN_SECRET, at least 32 characters; null for a deployment without user tokens. */
  readonly tokenSecret: string | null;
}
export interface Auth {
  readonly authenticate: Authenticate;
  readonly userTokens: UserTokens;
  /** What an OAuth token stands for. It passes at its one resource only, so `authenticate` knows none. */
  readonly fromGrant: GrantToPrincipal;
}

/** Throws AppError `config_invalid` when the secret is too short. */
export function createAuth(deps: AuthDeps): Auth {
  const apiKeys = new ApiKeys(deps);
  const { tokenSecret: secret, clock, ids } = deps;
  const userTokens = new UserTokens({ secret, apiKeys, clock, ids });
  const authenticate: Authenticate = async (header, defer) => {
    if (header === null || header.trim() === "") return err("credentials_missing");
    const credentials = /^bearer +(\S+)$/i.exec(header.trim())?.[1];
    if (credentials === undefined) return err("scheme_unsupported");
    if (!credentials.startsWith("hf_")) return userTokens.verify(credentials, defer);
    const key = await apiKeys.findByText(credentials, defer);
    return key.ok ? ok(fromKey(key.value)) : key;
  };
  return { authenticate, userTokens, fromGrant: createGrants(apiKeys) };
}

function fromKey(key: KeyRecord): Principal {
  return {
    tenant: key.tenant,
    kind: key.kind,
    id: trusted<PrincipalId>(key.id),
    roles: [],
    scopes: toScopes(key.scopes),
    onBehalfOf: null,
    credential: { keyId: key.id, expiresAt: key.expiresAt },
  };
}
