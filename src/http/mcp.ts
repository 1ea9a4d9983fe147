/** Where MCP clients come in: `/mcp/:agent`. */
import type { Context, Hono, MiddlewareHandler } from "hono";
import { findAgent, type KnownAgents } from "#auth/known-agents.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import { isForeignOrigin, serveMcp } from "#protocols/mcp/routes.ts";
import { refuse, type RestDeps, type RestEnv } from "#protocols/rest/context.ts";
import { failure } from "#protocols/rest/errors.ts";
import { isAgentName } from "#shared/ids.ts";

interface McpMountDeps extends KnownAgents {
  readonly threads: ThreadAccess;
  readonly directory: RestDeps["directory"];
  readonly ids: RestDeps["ids"];
  readonly allowedOrigins: readonly string[];
  readonly limits: RateLimits;
}
const PATH = "/mcp/:agent";

export function mountMcp(
  app: Hono<RestEnv>,
  deps: McpMountDeps,
  requirePrincipal: MiddlewareHandler<RestEnv>,
): void {
  app.use("/mcp/*", async (c, next) => {
    c.set("route", PATH);
    const foreign = isForeignOrigin(c.req.raw, deps.allowedOrigins);
    if (foreign) return refuse(c, failure("forbidden", "Pages of this origin may not connect."));
    await next();
    return undefined;
  });
  app.use("/mcp/*", requirePrincipal);
  app.all(PATH, async (c) => {
    const principal = c.get("principal");
    const agent = c.req.param("agent");
    if (principal === undefined || !isAgentName(agent)) return refuse(c, failure("agent_unknown"));
    const { tenant } = principal;
    const manifest = await findAgent(deps, { tenant, agent });
    if (manifest === null) return refuse(c, failure("agent_unknown"));
    const { description } = manifest;
    const request = c.req.raw;
    return serveMcp({ ...deps, principal, agent, description, request, context: contextOf(c) });
  });
}

/** In Node there is no execution context to end, so the work simply goes on. */
function contextOf(c: Context<RestEnv>): ExecutionContext {
  try {
    return c.executionCtx as ExecutionContext;
  } catch {
    return {
      waitUntil: () => undefined,
      passThroughOnException: () => undefined,
      props: {},
    } as never;
  }
}
