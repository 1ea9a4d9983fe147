/**
 * The HTTP application: request id, headers, log and errors around everything; authentication around the API.
 *
 * P1 whatever happens, an error leaves as a problem document with a stable code and the request's id.
 * No CORS: a browser on another origin gets no answer it can read.
 */
import { Hono } from "hono";
import type { Context, MiddlewareHandler } from "hono";
import type { Authenticate, AuthDeps } from "#auth/authenticate.ts";
import { createAuth } from "#auth/authenticate.ts";
import type { ThreadAccessDeps } from "#auth/thread-access.ts";
import { ThreadAccess } from "#auth/thread-access.ts";
import { RateLimits, type Rates } from "#auth/rate-limits.ts";
import { SocketTickets } from "#auth/socket-tickets.ts";
import type { RequestLog } from "#observability/request-log.ts";
import type { CardDeps } from "#protocols/a2a/card.ts";
import type { A2aDeps } from "#protocols/a2a/call.ts";
import type { RestDeps, RestEnv } from "#protocols/rest/context.ts";
import { refuse } from "#protocols/rest/context.ts";
import { failure, rateLimited } from "#protocols/rest/errors.ts";
import { createOpenAiApi } from "#protocols/openai/routes.ts";
import { mountOAuth, type OAuthDeps } from "#protocols/oauth/routes.ts";
import { createRestApi } from "#protocols/rest/routes.ts";
import { mountA2a, mountCards } from "./a2a.ts";
import { mountAgUi } from "./ag-ui.ts";
import { mountHooks } from "./hooks.ts";
import { mountMcp } from "./mcp.ts";
import { mountPage, ownHeaders } from "./page.ts";
import { REFERENCE_CSP, REFERENCE_PAGE, REFERENCE_SCRIPT } from "./pages.ts";
import { toFailure, toReason } from "./problem.ts";
import { setSecurityHeaders } from "./security-headers.ts";
import { mountSockets } from "./sockets.ts";

export interface AppDeps
  extends
    AuthDeps,
    ThreadAccessDeps,
    Pick<A2aDeps, "egress" | "runIndex">,
    Pick<CardDeps, "signer">,
    Pick<
      RestDeps,
      | "agents"
      | "auditExport"
      | "box"
      | "builder"
      | "egress"
      | "hooks"
      | "inbox"
      | "ledgers"
      | "metrics"
      | "prices"
      | "promoted"
      | "retention"
      | "spend"
      | "subjects"
      | "versions"
      | "webhooks"
    > {
  readonly log: RequestLog;
  /** Serves the built static files: `/app/*` is the page, `/swagger/*` is swagger-ui-dist. Null where there are none. */
  readonly assets: ((request: Request) => Promise<Response>) | null;
  /** Origins of pages that may open sockets, besides this one. */
  readonly allowedOrigins: readonly string[];
  readonly rates: Rates;
  /** Null: MCP clients come with keys only. */
  readonly oauth: OAuthDeps["oauth"] | null;
  /** Public keys by which exports are verified, as a JWKS. */
  readonly keySet: object;
}

/** Where verifiers look for a service's keys. */
const KEY_SET_PATH = "/.well-known/jwks.json";
const PUBLIC_PATHS = [
  "/",
  "/healthz",
  KEY_SET_PATH,
  "/v1/openapi.json",
  "/v1/reference",
  "/v1/reference.js",
];

/** Throws AppError `config_invalid` when the token secret is too short. Build it once per isolate: it holds caches. */
export function createApp(deps: AppDeps): Hono<RestEnv> {
  const { authenticate, userTokens, fromGrant } = createAuth(deps);
  const threads = new ThreadAccess(deps);
  const tickets = new SocketTickets({ ...deps, secret: deps.tokenSecret });
  const limits = new RateLimits(deps.rates, deps.clock);
  const rest = createRestApi({ ...deps, threads, userTokens, tickets, limits });
  const app = new Hono<RestEnv>();
  app.use(aroundRequest(deps));
  mountPage(app, deps.assets);
  app.get("/healthz", (c) => c.json({ ok: true }));
  app.get(KEY_SET_PATH, (c) =>
    c.json(deps.keySet, 200, { "cache-control": "public, max-age=300" }),
  );
  app.get("/v1/openapi.json", (c) => c.json(rest.openApi()));
  app.get("/v1/reference", (c) =>
    c.html(REFERENCE_PAGE, 200, { "content-security-policy": REFERENCE_CSP }),
  );
  app.get("/v1/reference.js", (c) =>
    c.body(REFERENCE_SCRIPT, 200, { "content-type": "text/javascript; charset=utf-8" }),
  );
  const { assets } = deps;
  if (assets !== null) app.get("/swagger/*", async (c) => ownHeaders(await assets(c.req.raw)));
  for (const path of PUBLIC_PATHS) {
    app.all(path, (c) =>
      refuse(c, failure("method_not_allowed"), { headers: { allow: "GET, HEAD" } }),
    );
  }
  mountHooks(app, { ...deps, threads });
  app.use("/v1/*", requirePrincipal(authenticate, limits));
  app.route("/v1", rest.api);
  const openai = createOpenAiApi(
    { ...deps, threads, authenticate, deferTo, limits },
    (c, heard) => {
      c.set("principal", heard.principal);
      c.set("route", heard.route);
    },
  );
  app.route("/openai/v1", openai);
  app.use("/ag-ui/*", requirePrincipal(authenticate, limits));
  mountAgUi(app, { ...deps, threads, limits });
  mountCards(app, deps);
  mountA2a(app, { ...deps, threads, limits }, requirePrincipal(authenticate, limits));
  mountMcp(app, { ...deps, threads, limits, authenticate, fromGrant, deferTo });
  if (deps.oauth !== null)
    mountOAuth(app, { ...deps, oauth: deps.oauth, limits, authenticate, deferTo });
  mountSockets(app, { ...deps, threads, tickets, authenticate, deferTo, limits });
  app.notFound((c) => refuse(c, failure("not_found")));
  app.onError((error, c) => {
    c.set("errorReason", toReason(error));
    return refuse(c, toFailure(error));
  });
  return app;
}

function aroundRequest({ ids, clock, log }: AppDeps): MiddlewareHandler<RestEnv> {
  return async (c, next) => {
    const startedAt = clock.now();
    c.set("requestId", ids.next("req"));
    await next();
    c.res.headers.set("x-request-id", c.get("requestId"));
    setSecurityHeaders(c.res.headers, { https: new URL(c.req.url).protocol === "https:" });
    const principal = c.get("principal");
    log({
      at: startedAt,
      requestId: c.get("requestId"),
      method: c.req.method,
      route: c.get("route") ?? (PUBLIC_PATHS.includes(c.req.path) ? c.req.path : null),
      status: c.res.status,
      durationMs: clock.now() - startedAt,
      tenant: principal?.tenant ?? null,
      principal: principal?.id ?? null,
      code: c.get("errorCode") ?? null,
      reason: c.get("errorReason") ?? null,
    });
  };
}

function requirePrincipal(
  authenticate: Authenticate,
  limits: RateLimits,
): MiddlewareHandler<RestEnv> {
  return async (c, next) => {
    const principal = await authenticate(c.req.header("authorization") ?? null, deferTo(c));
    if (!principal.ok) {
      c.set("errorReason", principal.error);
      return refuse(c, failure("unauthenticated"));
    }
    c.set("principal", principal.value);
    const wait = limits.take("request", principal.value);
    if (wait !== null) return refuse(c, rateLimited(wait));
    await next();
    return undefined;
  };
}

/** `waitUntil` in a Worker. In Node there is no execution context to end, so the work simply goes on. */
function deferTo(c: Context<RestEnv>): (work: Promise<void>) => void {
  return (work) => {
    try {
      c.executionCtx.waitUntil(work);
    } catch {
      void work;
    }
  };
}
