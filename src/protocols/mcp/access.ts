/** What a caller may do over MCP: the scopes and rates that the same thing has over REST (P81). */
import type { Principal, Scope } from "#auth/principal.ts";
import { hasScope, isScope } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ExportedTool } from "#ports/agent-exports.ts";
import type { Reply } from "#ports/thread-gateway.ts";
import { failure, rateLimited } from "#protocols/rest/errors.ts";
import { err, ok } from "#shared/result.ts";
import {
  requireScopes as challenge,
  type ScopeChallengeHandler,
} from "@modelcontextprotocol/server";

interface Asking {
  readonly principal: Principal;
  readonly limits: RateLimits;
}

export function requireScopes({ principal }: Asking, scopes: readonly Scope[]): Reply<null> {
  const missing = scopes.find((scope) => !hasScope(principal, scope));
  return missing === undefined
    ? ok(null)
    : err(failure("forbidden", `This needs the scope ${missing}.`, { scope: missing }));
}

/** Counted with the runs that begin elsewhere (P41). */
export function mayStart(asking: Asking): Reply<null> {
  // Both: its answer tells how the run stands.
  const allowed = requireScopes(asking, ["threads:write", "threads:read"]);
  if (!allowed.ok) return allowed;
  const wait = asking.limits.take("run", asking.principal);
  return wait === null ? ok(null) : err(rateLimited(wait));
}

/** As a challenge to OAuth clients, which can ask their user for more (P88). Others are told by the call's result. */
export function requiring(...scopes: readonly [Scope, ...string[]]): ScopeChallengeHandler {
  return challenge(...scopes);
}

export function requiredBy({ scopes }: Pick<ExportedTool, "scopes">): readonly Scope[] {
  return ["threads:write", "threads:read", ...scopes.filter(isScope)];
}
