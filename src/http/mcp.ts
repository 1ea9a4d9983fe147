/** Where MCP clients come in: `/mcp/:agent`. */
import type { Context, Hono } from "hono";
import type { Authenticate } from "#auth/authenticate.ts";
import { findAgent, type KnownAgents } from "#auth/known-agents.ts";
import { BASE_SCOPES, type GrantToPrincipal } from "#auth/oauth-grants.ts";
import type { Principal } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import { isForeignHost, isForeignOrigin } from "#protocols/common/same-site.ts";
import { serveMcp, type McpRequest } from "#protocols/mcp/routes.ts";
import { METADATA_PATH, type OAuthDeps } from "#protocols/oauth/routes.ts";
import { refuse, type RestDeps, type RestEnv } from "#protocols/rest/context.ts";
import { failure, rateLimited } from "#protocols/rest/errors.ts";
import { isAgentName } from "#shared/ids.ts";
import { ok } from "#shared/result.ts";

interface McpMountDeps
  extends
    Pick<KnownAgents, "promoted">,
    Pick<RestDeps, "agents" | "directory" | "ids" | "hasher" | "clock"> {
  readonly threads: ThreadAccess;
  readonly allowedOrigins: readonly string[];
  readonly limits: RateLimits;
  readonly tokenSecret: string | null;
  readonly oauth: OAuthDeps["oauth"] | null;
  readonly authenticate: Authenticate;
  readonly fromGrant: GrantToPrincipal;
  readonly deferTo: (c: Context<RestEnv>) => (work: Promise<void>) => void;
}
const PATH = "/mcp/:agent";
const NO_EXPORTS = { tools: [], prompts: [], resources: [] };

export function mountMcp(app: Hono<RestEnv>, deps: McpMountDeps): void {
  app.use("/mcp/*", async (c, next) => {
    c.set("route", PATH);
    const { raw } = c.req;
    if (isForeignHost(raw, deps.allowedOrigins))
      return refuse(c, failure("forbidden", "This is not a host of this service."));
    if (isForeignOrigin(raw, deps.allowedOrigins))
      return refuse(c, failure("forbidden", "Pages of this origin may not connect."));
    await next();
    return undefined;
  });
  app.all(PATH, async (c) => {
    const agent = c.req.param("agent");
    const heard = await hear(c, deps, agent);
    if (heard instanceof Response) return heard;
    const { principal, authInfo } = heard;
    if (!isAgentName(agent)) return refuse(c, failure("agent_unknown"));
    const { tenant } = principal;
    const manifest = await findAgent(deps, { tenant, agent });
    if (manifest === null) return refuse(c, failure("agent_unknown"));
    const own = deps.agents.find((entry) => entry.manifest.name === agent);
    const { exports = NO_EXPORTS } = own ?? {};
    const call = { ...deps, principal, agent, exports };
    return serveMcp({
      call,
      sessions: { secret: deps.tokenSecret, clock: deps.clock, ids: deps.ids },
      request: c.req.raw,
      description: manifest.description,
      authInfo,
    });
  });
}

interface Heard {
  readonly principal: Principal;
  readonly authInfo: McpRequest["authInfo"];
}

/** A key, a user token, or an OAuth token of exactly this agent (P87). */
async function hear(
  c: Context<RestEnv>,
  deps: McpMountDeps,
  agent: string,
): Promise<Heard | Response> {
  const resource = `${new URL(c.req.url).origin}/mcp/${agent}`;
  const header = c.req.header("authorization") ?? null;
  const granted = await fromOAuth(c, deps, { resource, header });
  const known =
    granted === null ? await deps.authenticate(header, deps.deferTo(c)) : ok(granted.principal);
  if (!known.ok) {
    c.set("errorReason", known.error);
    const refused = refuse(c, failure("unauthenticated"));
    if (deps.oauth !== null) refused.headers.set("www-authenticate", toChallenge(c, agent));
    return refused;
  }
  c.set("principal", known.value);
  const wait = deps.limits.take("request", known.value);
  if (wait !== null) return refuse(c, rateLimited(wait));
  return { principal: known.value, authInfo: granted?.authInfo };
}

/** Opaque tokens of the authorization server; what it does not know is somebody else's, or nobody's. */
const OAUTH_TOKEN = /^bearer +([^\s:]+:[^\s:]+:[^\s:]+)$/i;

async function fromOAuth(
  c: Context<RestEnv>,
  { oauth, fromGrant, deferTo }: McpMountDeps,
  { resource, header }: { readonly resource: string; readonly header: string | null },
): Promise<{ readonly principal: Principal; readonly authInfo: McpRequest["authInfo"] } | null> {
  const token = OAUTH_TOKEN.exec(header?.trim() ?? "")?.[1];
  const granted = token === undefined ? null : ((await oauth?.check(resource, token)) ?? null);
  const principal = granted === null ? null : await fromGrant(granted, deferTo(c));
  if (granted === null || principal === null) return null;
  const scopes = [...principal.scopes];
  // Not the token itself: nothing behind this line needs it, so nothing can pass it on.
  const authInfo = { token: "", clientId: granted.clientId, scopes, resource: new URL(resource) };
  return { principal, authInfo };
}

function toChallenge(c: Context<RestEnv>, agent: string): string {
  const { origin } = new URL(c.req.url);
  const error = c.req.header("authorization") === undefined ? "" : 'error="invalid_token", ';
  return `Bearer ${error}resource_metadata="${origin}${METADATA_PATH}/${agent}", scope="${BASE_SCOPES.join(" ")}"`;
}
