/** Agents of this deployment, and tokens for the users who talk to them. */
import type { MintRefusal } from "#auth/user-tokens.ts";
import type { Failure } from "#ports/thread-gateway.ts";
import { exhaustive } from "#shared/exhaustive.ts";
import type { RestDeps } from "./context.ts";
import { refuse } from "./context.ts";
import { encodeAgent } from "./encode.ts";
import { failure } from "./errors.ts";
import type { Router } from "./route.ts";
import { addRoute } from "./route.ts";
import { json } from "./responses.ts";
import { AgentDoc, AgentListDoc, AgentParams, NoParams, NoQuery } from "./wire.ts";
import { MintTokenBody, PrincipalDoc, TokenDoc } from "./wire-credentials.ts";

/** The list is not paged: a deployment has few agents, and a tenant that stores more finds them by name. */
const MAX_STORED = 200;

export function addAgentRoutes(router: Router, deps: RestDeps): void {
  const { agents, versions, promoted } = deps;
  addRoute(router, {
    method: "get",
    path: "/agents",
    id: "listAgents",
    tag: "agents",
    summary: "List the agents of this deployment",
    scope: "threads:read",
    params: NoParams,
    query: NoQuery,
    responses: json(200, AgentListDoc),
    handle: async ({ principal }) => {
      const names = new Set(agents.map(({ manifest }) => manifest.name));
      const stored = await versions.listPromoted(principal.tenant, MAX_STORED);
      const all = [...agents, ...stored.filter(({ agent }) => !names.has(agent))];
      return Response.json({ items: all.map((entry) => encodeAgent(entry, principal)) });
    },
  });

  addRoute(router, {
    method: "get",
    path: "/agents/{agent}",
    id: "getAgent",
    tag: "agents",
    summary: "Get one agent",
    scope: "threads:read",
    params: AgentParams,
    query: NoQuery,
    responses: json(200, AgentDoc),
    handle: async ({ c, principal, params: { agent } }) => {
      const entry =
        agents.find(({ manifest }) => manifest.name === agent) ??
        (await promoted.get({ tenant: principal.tenant, agent }));
      if (entry === null) return refuse(c, failure("agent_unknown"));
      return Response.json(encodeAgent(entry, principal));
    },
  });

  addTokenRoutes(router, deps);
}

/** Who a credential is, and credentials for others. */
function addTokenRoutes(router: Router, { userTokens }: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: "/me",
    id: "getPrincipal",
    tag: "tokens",
    summary: "Get who this credential is and what it may do",
    scope: "threads:read",
    params: NoParams,
    query: NoQuery,
    responses: json(200, PrincipalDoc),
    handle: ({ principal: { tenant, kind, id, scopes } }) =>
      Response.json({ tenant, kind, id, scopes: [...new Set(scopes)] }),
  });

  addRoute(router, {
    method: "post",
    path: "/tokens",
    id: "mintToken",
    tag: "tokens",
    summary: "Mint a short-lived token for one of your users",
    scope: "tokens:mint",
    params: NoParams,
    query: NoQuery,
    body: { schema: MintTokenBody },
    responses: json(201, TokenDoc),
    handle: async ({ c, principal, body }) => {
      const { user, ttlSeconds, scopes = null } = body;
      const minted = await userTokens.mint(principal, { user, ttlSeconds, scopes });
      if (!minted.ok) return refuse(c, toFailure(minted.error));
      return Response.json({ ...minted.value, user }, { status: 201 });
    },
  });
}

function toFailure(refusal: MintRefusal): Failure {
  switch (refusal.reason) {
    case "tokens_disabled":
      return failure("config_invalid");
    case "minter_not_allowed":
      return failure("forbidden", "Only a service or operator key with tokens:mint mints tokens.");
    case "user_id_invalid":
      return failure(
        "invalid_request",
        "`user` must be an opaque id: 1 to 64 of A-Z, a-z, 0-9, _ and -, and not start with key_.",
        { issues: [{ path: "/user", message: "not a user id" }] },
      );
    case "ttl_invalid":
      return failure("invalid_request", `\`ttlSeconds\` must be 1 to ${refusal.maxSeconds}.`);
    case "scopes_too_wide":
      return failure("forbidden", "A token cannot be wider than the key that mints it.", {
        scopes: refusal.scopes,
      });
    default:
      return exhaustive(refusal);
  }
}
