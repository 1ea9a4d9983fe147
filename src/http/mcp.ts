/** Where MCP clients come in: `/mcp/:agent`. */
import type { Hono, MiddlewareHandler } from "hono";
import { findAgent, type KnownAgents } from "#auth/known-agents.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import { serveMcp } from "#protocols/mcp/routes.ts";
import { refuse, type RestDeps, type RestEnv } from "#protocols/rest/context.ts";
import { failure } from "#protocols/rest/errors.ts";
import { isAgentName } from "#shared/ids.ts";
import { isForeignHost, isForeignOrigin } from "./same-site.ts";

interface McpMountDeps
  extends
    Pick<KnownAgents, "promoted">,
    Pick<RestDeps, "agents" | "directory" | "ids" | "hasher" | "clock"> {
  readonly threads: ThreadAccess;
  readonly allowedOrigins: readonly string[];
  readonly limits: RateLimits;
  readonly tokenSecret: string | null;
}
const PATH = "/mcp/:agent";
const NO_EXPORTS = { tools: [], prompts: [], resources: [] };

export function mountMcp(
  app: Hono<RestEnv>,
  deps: McpMountDeps,
  requirePrincipal: MiddlewareHandler<RestEnv>,
): void {
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
  app.use("/mcp/*", requirePrincipal);
  app.all(PATH, async (c) => {
    const principal = c.get("principal");
    const agent = c.req.param("agent");
    if (principal === undefined || !isAgentName(agent)) return refuse(c, failure("agent_unknown"));
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
      authInfo: undefined,
    });
  });
}
