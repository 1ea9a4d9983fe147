/**
 * Where A2A clients come in: `/a2a/:agent`, and the cards by which they find it.
 *
 * Cards of the code's agents are public. A stored agent is its tenant's own: its card is the extended one.
 */
import type { Context, Hono, MiddlewareHandler } from "hono";
import { findAgent, type KnownAgents } from "#auth/known-agents.ts";
import { signedCard, type CardDeps, type CardOf } from "#protocols/a2a/card.ts";
import type { ServedCall } from "#protocols/a2a/operations.ts";
import { serveHttp, serveRpc } from "#protocols/a2a/routes.ts";
import type { A2aDeps } from "#protocols/a2a/call.ts";
import { refuse, type RestEnv } from "#protocols/rest/context.ts";
import { failure } from "#protocols/rest/errors.ts";
import { isAgentName } from "#shared/ids.ts";
import { canonicalJson, utf8 } from "#shared/json.ts";

type MountDeps = A2aDeps & KnownAgents & CardDeps;
const PATH = "/a2a/:agent";
const CARD = ".well-known/agent-card.json";

/** The first agent of the code is the one at the service's own address. */
export function mountCards(
  app: Hono<RestEnv>,
  deps: Pick<KnownAgents, "agents"> & CardDeps & { readonly clock: { now(): number } },
): void {
  // A card changes with a deploy, and no build is older than what first served it here.
  const lastModified = new Date(deps.clock.now()).toUTCString();
  const serve = async (c: Context<RestEnv>, name: string | undefined): Promise<Response> => {
    const found = deps.agents.find(({ manifest }) => manifest.name === name);
    if (found === undefined) return refuse(c, failure("agent_unknown"));
    return cardResponse(
      c,
      { ...deps, lastModified },
      { ...found, origin: originOf(c), extended: false },
    );
  };
  app.get(`/${CARD}`, async (c) => {
    c.set("route", `/${CARD}`);
    return serve(c, deps.agents[0]?.manifest.name);
  });
  app.get(`${PATH}/${CARD}`, async (c) => {
    c.set("route", `${PATH}/${CARD}`);
    return serve(c, c.req.param("agent"));
  });
}

export function mountA2a(
  app: Hono<RestEnv>,
  deps: MountDeps,
  requirePrincipal: MiddlewareHandler<RestEnv>,
): void {
  app.use("/a2a/*", async (c, next) => {
    c.set("route", PATH);
    await next();
  });
  app.use("/a2a/*", requirePrincipal);
  app.all(`${PATH}/*`, async (c) => {
    const call = await toCall(c, deps);
    if (call === null) return refuse(c, failure("agent_unknown"));
    const { pathname, searchParams: query } = new URL(c.req.url);
    const path = decoded(pathname.split("/").slice(3).join("/"));
    if (path === null) return refuse(c, failure("not_found"));
    if (path !== "") return serveHttp(call, c.req.raw, { path, query });
    if (c.req.method === "POST") return serveRpc(call, c.req.raw);
    return refuse(c, failure("method_not_allowed"), { headers: { allow: "POST" } });
  });
}

async function toCall(c: Context<RestEnv>, deps: MountDeps): Promise<ServedCall | null> {
  const principal = c.get("principal");
  const agent = c.req.param("agent") ?? "";
  if (principal === undefined || !isAgentName(agent)) return null;
  const manifest = await findAgent(deps, { tenant: principal.tenant, agent });
  if (manifest === null) return null;
  const origin = originOf(c);
  const extendedCard = () => signedCard(deps, { manifest, origin, extended: true });
  const { replies = "task" } = manifest;
  return { deps, principal, agent, replies, origin, extendedCard };
}

async function cardResponse(
  c: Context<RestEnv>,
  deps: CardDeps & { readonly lastModified: string },
  of: CardOf,
): Promise<Response> {
  const card = await signedCard(deps, of);
  const etag = `"${deps.hasher.sha256(utf8(canonicalJson(card)))}"`;
  const headers = {
    etag,
    "last-modified": deps.lastModified,
    "cache-control": "public, max-age=300",
  };
  if (c.req.header("if-none-match") === etag) return new Response(null, { status: 304, headers });
  return Response.json(card, { headers });
}

function decoded(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

function originOf(c: Context<RestEnv>): string {
  return new URL(c.req.url).origin;
}
