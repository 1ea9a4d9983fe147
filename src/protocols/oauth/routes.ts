/**
 * OAuth for MCP clients: discovery, registration, tokens, and the page where a person consents.
 *
 * P86 the metadata of each agent's MCP server names the authorization server, which issues tokens for that one agent. P88
 * whoever consents shows a credential of their own; without it, and without the browser that was shown the page, nothing is
 * granted.
 */
import type { Context, Hono } from "hono";
import type { Authenticate } from "#auth/authenticate.ts";
import { findAgent, type KnownAgents } from "#auth/known-agents.ts";
import { BASE_SCOPES, OAUTH_SCOPES } from "#auth/oauth-grants.ts";
import { hasScope, isScope, type Principal } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { OAuthServer } from "#ports/oauth-server.ts";
import { isForeignHost } from "#protocols/common/same-site.ts";
import { refuse, type RestEnv } from "#protocols/rest/context.ts";
import { failure, rateLimited } from "#protocols/rest/errors.ts";
import { isAgentName } from "#shared/ids.ts";
import { consentCsp, consentHtml, MESSAGE_CSP, messageHtml } from "./consent-page.ts";

export interface OAuthDeps extends KnownAgents {
  readonly oauth: OAuthServer;
  readonly authenticate: Authenticate;
  readonly limits: RateLimits;
  readonly allowedOrigins: readonly string[];
  readonly deferTo: (c: Context<RestEnv>) => (work: Promise<void>) => void;
}

export const METADATA_PATH = "/.well-known/oauth-protected-resource/mcp";
const AUTHORIZE = "/oauth/authorize";
const MAX_FORM_BYTES = 16_384;

export function mountOAuth(app: Hono<RestEnv>, deps: OAuthDeps): void {
  const { oauth, allowedOrigins } = deps;
  app.get(`${METADATA_PATH}/:agent`, (c) => {
    c.set("route", `${METADATA_PATH}/:agent`);
    const agent = c.req.param("agent");
    // Whether a tenant has an agent of this name is told to nobody who has not said who they are.
    if (!isAgentName(agent)) return refuse(c, failure("not_found"));
    const { origin } = new URL(c.req.url);
    return c.json({
      resource: `${origin}/mcp/${agent}`,
      authorization_servers: [origin],
      scopes_supported: BASE_SCOPES,
      bearer_methods_supported: ["header"],
      resource_name: agent,
    });
  });
  app.use("/oauth/*", async (c, next) => {
    if (isForeignHost(c.req.raw, allowedOrigins))
      return refuse(c, failure("forbidden", "This is not a host of this service."));
    c.set("route", c.req.path === AUTHORIZE ? AUTHORIZE : "/oauth/*");
    await next();
    return undefined;
  });
  app.get(AUTHORIZE, (c) => showConsent(c, deps));
  app.post(AUTHORIZE, (c) => takeConsent(c, deps));
  for (const path of ["/.well-known/oauth-authorization-server", "/oauth/token", "/oauth/register"])
    app.all(path, async (c) => {
      const served = await oauth.serve(c.req.raw);
      if (served === null) return refuse(c, failure("not_found"));
      return new Response(served.body, served);
    });
}

async function showConsent(c: Context<RestEnv>, { oauth }: OAuthDeps): Promise<Response> {
  const begun = await oauth.begin(c.req.raw);
  if (!begun.ok) return failed(c, begun);
  const { facts, headers } = begun.value;
  const asked = facts.scopes.filter((scope) => isScope(scope) && OAUTH_SCOPES.includes(scope));
  const scopes = asked.length === 0 ? BASE_SCOPES : asked;
  headers.set("content-type", "text/html; charset=utf-8");
  headers.set("content-security-policy", consentCsp(facts.redirectOrigin));
  return new Response(consentHtml(begun.value, scopes), { headers });
}

async function takeConsent(c: Context<RestEnv>, deps: OAuthDeps): Promise<Response> {
  const { oauth, authenticate, limits, deferTo } = deps;
  // A form of another site's page cannot have the handle, and is refused before it is read all the same.
  const origin = c.req.header("origin");
  if (origin !== undefined && origin !== "null" && origin !== new URL(c.req.url).origin)
    return refuse(c, failure("forbidden", "Pages of this origin may not consent."));
  if (Number(c.req.header("content-length") ?? MAX_FORM_BYTES + 1) > MAX_FORM_BYTES)
    return refuse(c, failure("body_too_large"));
  const form = new URLSearchParams(await c.req.text());
  const handle = form.get("handle") ?? "";
  if (form.get("decision") !== "approve") {
    const denied = await oauth.deny(c.req.raw, handle);
    return denied.ok ? redirect(denied.value) : failed(c, denied);
  }
  const shown = (form.get("credential") ?? "").trim();
  const principal = await authenticate(`Bearer ${shown}`, deferTo(c));
  if (!principal.ok) {
    c.set("errorReason", principal.error);
    return message(c, 401, "This key is not valid. Go back and try again.");
  }
  const wait = limits.take("request", principal.value);
  if (wait !== null) return refuse(c, rateLimited(wait));
  c.set("principal", principal.value);
  const resource = form.get("resource") ?? "";
  if (!(await hasAgent(deps, principal.value, resource)))
    return message(c, 403, "This key has no agent at the address that the app wants to use.");
  const wanted = form.getAll("scope").filter(isScope);
  const scopes = OAUTH_SCOPES.filter(
    (scope) => wanted.includes(scope) && hasScope(principal.value, scope),
  );
  if (scopes.length === 0)
    return message(c, 403, "Nothing of what was asked may be granted with this key.");
  const { tenant, kind, id, credential } = principal.value;
  const holder = { tenant, kind, id, keyId: credential.keyId };
  const approved = await oauth.approve(c.req.raw, handle, { holder, scopes, resource });
  return approved.ok ? redirect(approved.value) : failed(c, approved);
}

async function hasAgent(
  deps: KnownAgents,
  { tenant }: Principal,
  resource: string,
): Promise<boolean> {
  const agent = resource.slice(resource.lastIndexOf("/") + 1);
  return isAgentName(agent) && (await findAgent(deps, { tenant, agent })) !== null;
}

function redirect(headers: Headers): Response {
  return new Response(null, { status: 302, headers });
}

/** Back to the app only where its address is known to be right; else it is said here. */
function failed(
  c: Context<RestEnv>,
  refusal: { readonly message: string; readonly redirectTo: string | null },
): Response {
  if (refusal.redirectTo !== null) return c.redirect(refusal.redirectTo, 302);
  return message(c, 400, refusal.message);
}

function message(c: Context<RestEnv>, status: 400 | 401 | 403, text: string): Response {
  const headers = { "content-security-policy": MESSAGE_CSP };
  return c.html(messageHtml("This app was not connected", text), status, headers);
}
