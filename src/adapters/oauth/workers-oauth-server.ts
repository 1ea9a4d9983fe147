/**
 * OAuthServer on `@cloudflare/workers-oauth-provider`, with its KV namespace. One instance an origin: issuer and resources are
 * addresses of the origin that was asked, so that one deployment serves several domains, and a laptop.
 */
import {
  AuthorizationError,
  CimdFetchError,
  OAuthAuthorizationServer,
  type OAuthHelpers,
} from "@cloudflare/workers-oauth-provider";
import type { Consent, ConsentPage, GrantHolder, OAuthServer } from "#ports/oauth-server.ts";
import { BoundedCache } from "#shared/bounded-cache.ts";

export interface WorkersOAuthConfig {
  /** The binding; absent in deployments without OAuth. */
  readonly OAUTH_KV: KVNamespace;
}
export interface WorkersOAuthOptions {
  readonly env: WorkersOAuthConfig;
  /** Whose MCP servers are resources. */
  readonly agents: readonly string[];
  readonly scopes: readonly string[];
}

const ACCESS_TTL_SECONDS = 3_600;
const REFRESH_TTL_SECONDS = 30 * 86_400;
const ENDPOINTS: ReadonlySet<string> = new Set([
  "/.well-known/oauth-authorization-server",
  "/oauth/token",
  "/oauth/register",
]);
const MAX_ORIGINS = 20;

type Server = OAuthAuthorizationServer<WorkersOAuthConfig>;

export class WorkersOAuthServer implements OAuthServer {
  readonly #options: WorkersOAuthOptions;
  readonly #servers = new BoundedCache<Server>(MAX_ORIGINS);

  constructor(options: WorkersOAuthOptions) {
    this.#options = options;
  }

  async serve(request: Request): Promise<Response | null> {
    const { pathname } = new URL(request.url);
    if (!ENDPOINTS.has(pathname)) return null;
    return this.#server(request).fetch(request, this.#options.env, NO_CONTEXT);
  }

  begin(request: Request): Promise<Consent<ConsentPage>> {
    return attempt(async () => {
      const api = this.#api(request);
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
    { holder, scopes }: { readonly holder: GrantHolder; readonly scopes: readonly string[] },
  ): Promise<Consent<Headers>> {
    return attempt(async () => {
      const api = this.#api(request);
      const approved = await api.approveConsent(request, handle, { scope: [...scopes] });
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
      const { headers, redirectTo } = await this.#api(request).denyConsent(request, handle);
      headers.set("location", redirectTo);
      return headers;
    });
  }

  async check(resource: string, token: string): ReturnType<OAuthServer["check"]> {
    const { origin, pathname } = new URL(resource);
    // A resource that is not declared has no tokens.
    if (!this.#options.agents.some((agent) => pathname === `/mcp/${agent}`)) return null;
    const server = this.#serverOf(origin);
    const valid = await server.validateToken<GrantHolder>(resource, token, this.#options.env);
    if (valid === null) return null;
    const { props, scope, expiresAt, clientId } = valid;
    return { holder: props, scopes: scope, expiresAt: expiresAt * 1_000, clientId };
  }

  #api(request: Request): OAuthHelpers {
    return this.#server(request).getOAuthApi(this.#options.env);
  }

  #server(request: Request): Server {
    return this.#serverOf(new URL(request.url).origin);
  }

  #serverOf(origin: string): Server {
    const known = this.#servers.get(origin);
    if (known !== undefined) return known;
    const { agents, scopes } = this.#options;
    const made: Server = new OAuthAuthorizationServer<WorkersOAuthConfig>({
      issuer: origin,
      resources: agents.map((agent) => `${origin}/mcp/${agent}`),
      authorizeEndpoint: "/oauth/authorize",
      tokenEndpoint: "/oauth/token",
      clientRegistrationEndpoint: "/oauth/register",
      scopesSupported: [...scopes],
      // Fetching a document that a stranger names needs the flag `global_fetch_strictly_public`, for the whole deployment.
      clientIdMetadataDocumentEnabled: false,
      accessTokenTTL: ACCESS_TTL_SECONDS,
      refreshTokenTTL: REFRESH_TTL_SECONDS,
    });
    this.#servers.set(origin, made);
    return made;
  }
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
      return { ok: false, message: "This app could not be verified.", redirectTo: null };
    throw error;
  }
}
