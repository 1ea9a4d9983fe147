/**
 * OAuthServer on `@cloudflare/workers-oauth-provider`, with its KV namespace. One instance an origin: issuer and resources are
 * addresses of the origin that was asked, so that one deployment serves several domains, and a laptop. The package knows a
 * fixed list of resources, so an agent that is data has an instance of its own beside the one of the code's agents: all of
 * them read the same clients, grants and tokens.
 *
 * P107 a client id that is an address is fetched only where requests may go.
 */
import {
  AuthorizationError,
  CimdFetchError,
  OAuthAuthorizationServer,
  type OAuthHelpers,
} from "@cloudflare/workers-oauth-provider";
import type { Consent, ConsentPage, Grant, GrantHolder, OAuthServer } from "#ports/oauth-server.ts";
import { BoundedCache } from "#shared/bounded-cache.ts";
import { checkEgressUrl } from "#shared/egress-address.ts";
import { isAgentName } from "#shared/ids.ts";
import { namedClients, readTokenForm } from "./token-form.ts";

export interface WorkersOAuthConfig {
  /** The binding; absent in deployments without OAuth. */
  readonly OAUTH_KV: KVNamespace;
}
export interface WorkersOAuthOptions {
  readonly env: WorkersOAuthConfig;
  /** Of the code. */
  readonly agents: readonly string[];
  readonly scopes: readonly string[];
}

const ACCESS_TTL_SECONDS = 3_600;
const REFRESH_TTL_SECONDS = 30 * 86_400;
const TOKEN_ENDPOINT = "/oauth/token";
const ENDPOINTS: ReadonlySet<string> = new Set([
  "/.well-known/oauth-authorization-server",
  TOKEN_ENDPOINT,
  "/oauth/register",
]);
const MAX_SERVERS = 200;
/**
 * Without this flag of the whole deployment a request to a host of the own zone would reach its origin past the front, and the
 * package refuses to fetch what a stranger names (docs/decisions/0005-client-id-metadata-documents.md).
 */
const FETCHES_PUBLIC_ONLY =
  typeof Cloudflare !== "undefined" &&
  Cloudflare.compatibilityFlags["global_fetch_strictly_public"] === true;

type Server = OAuthAuthorizationServer<WorkersOAuthConfig>;

export class WorkersOAuthServer implements OAuthServer {
  readonly #options: WorkersOAuthOptions;
  readonly #servers = new BoundedCache<Server>(MAX_SERVERS);

  constructor(options: WorkersOAuthOptions) {
    this.#options = options;
  }

  async serve(request: Request): Promise<Response | null> {
    const { pathname, origin } = new URL(request.url);
    if (!ENDPOINTS.has(pathname)) return null;
    const { env } = this.#options;
    if (pathname !== TOKEN_ENDPOINT || request.method !== "POST")
      return this.#serverOf(origin, null).fetch(request, env, NO_CONTEXT);
    const { form, again } = await readTokenForm(request);
    const refused = namedClients(form, request.headers).some((id) => !mayFetch(id));
    if (refused) return Response.json(UNKNOWN_CLIENT, { status: 401, headers: NO_STORE });
    return this.#serverOf(origin, form.get("resource")).fetch(again, env, NO_CONTEXT);
  }

  begin(request: Request): Promise<Consent<ConsentPage>> {
    const { searchParams } = new URL(request.url);
    if (!mayFetch(searchParams.get("client_id") ?? ""))
      return Promise.resolve({ ok: false, message: NOT_VERIFIED, redirectTo: null });
    return attempt(async () => {
      const api = this.#api(request, searchParams.get("resource"));
      const asked = await api.parseAuthRequest(request);
      // First: a failed look-up leaves nothing behind.
      const facts = await api.describeConsent(asked);
      const { handle, headers } = await api.beginConsent(asked);
      return {
        handle,
        headers,
        facts: {
          clientName: facts.clientName,
          clientDomain: facts.clientDomain ?? null,
          redirectHost: facts.redirectHost,
          redirectOrigin: new URL(facts.redirectUri).origin,
          redirectIsLocal: facts.redirectIsLoopback,
          scopes: facts.scope,
          resource: asked.resource ?? null,
        },
      };
    });
  }

  approve(
    request: Request,
    handle: string,
    { holder, scopes, resource }: Grant,
  ): Promise<Consent<Headers>> {
    return attempt(async () => {
      const api = this.#api(request, resource);
      const approved = await api.approveConsent(request, handle, { scope: [...scopes] });
      // What the person was judged by is what is granted.
      if (approved.request.resource !== resource)
        throw new AuthorizationError("invalid_target", {
          description: "Another agent was asked for.",
        });
      const { redirectTo } = await api.completeAuthorization({
        request: approved.request,
        userId: holder.id,
        metadata: {},
        scope: approved.request.scope,
        props: holder,
      });
      approved.headers.set("location", redirectTo);
      return approved.headers;
    });
  }

  deny(request: Request, handle: string): Promise<Consent<Headers>> {
    return attempt(async () => {
      const { headers, redirectTo } = await this.#api(request, null).denyConsent(request, handle);
      headers.set("location", redirectTo);
      return headers;
    });
  }

  async check(resource: string, token: string): ReturnType<OAuthServer["check"]> {
    const { origin } = new URL(resource);
    // A resource that is not declared has no tokens.
    if (toAgent(origin, resource) === null) return null;
    const server = this.#serverOf(origin, resource);
    const valid = await server.validateToken<GrantHolder>(resource, token, this.#options.env);
    if (valid === null) return null;
    const { props, scope, expiresAt, clientId } = valid;
    return { holder: props, scopes: scope, expiresAt: expiresAt * 1_000, clientId };
  }

  #api(request: Request, resource: string | null): OAuthHelpers {
    return this.#serverOf(new URL(request.url).origin, resource).getOAuthApi(this.#options.env);
  }

  #serverOf(origin: string, resource: string | null): Server {
    const { agents, scopes } = this.#options;
    const named = resource === null ? null : toAgent(origin, resource);
    const stored = named === null || agents.includes(named) ? [] : [named];
    const key = [origin, ...stored].join(" ");
    const known = this.#servers.get(key);
    if (known !== undefined) return known;
    const made: Server = new OAuthAuthorizationServer<WorkersOAuthConfig>({
      issuer: origin,
      resources: [...agents, ...stored].map((agent) => `${origin}/mcp/${agent}`),
      authorizeEndpoint: "/oauth/authorize",
      tokenEndpoint: TOKEN_ENDPOINT,
      clientRegistrationEndpoint: "/oauth/register",
      scopesSupported: [...scopes],
      clientIdMetadataDocumentEnabled: FETCHES_PUBLIC_ONLY,
      accessTokenTTL: ACCESS_TTL_SECONDS,
      refreshTokenTTL: REFRESH_TTL_SECONDS,
    });
    this.#servers.set(key, made);
    return made;
  }
}

const NOT_VERIFIED = "This app could not be verified.";
const UNKNOWN_CLIENT = { error: "invalid_client", error_description: "Client not found" };
const NO_STORE = { "cache-control": "no-store" };

/** Never this machine: whoever asks is a stranger. An id that is no address is looked up and not fetched. */
function mayFetch(clientId: string): boolean {
  return !/^https:/i.test(clientId.trim()) || checkEgressUrl(clientId, { loopback: false }).ok;
}

/** Null for what is no MCP server of this origin. */
function toAgent(origin: string, resource: string): string | null {
  const prefix = `${origin}/mcp/`;
  const name = resource.startsWith(prefix) ? resource.slice(prefix.length) : "";
  return isAgentName(name) ? name : null;
}

/** The package ends nothing in the background that we would wait for. */
const NO_CONTEXT = {
  waitUntil: () => undefined,
  passThroughOnException: () => undefined,
  props: {},
} as unknown as ExecutionContext;

async function attempt<T>(work: () => Promise<T>): Promise<Consent<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (error instanceof AuthorizationError)
      return { ok: false, message: error.description, redirectTo: error.redirectTo ?? null };
    if (error instanceof CimdFetchError)
      return { ok: false, message: NOT_VERIFIED, redirectTo: null };
    throw error;
  }
}
