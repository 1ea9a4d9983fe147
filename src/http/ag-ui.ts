/** Where AG-UI clients come in: `POST /ag-ui/:agent`, and a run that is read again. */
import type { Context, Hono } from "hono";
import { findAgent, type KnownAgents } from "#auth/known-agents.ts";
import type { AgUiCall, AgUiDeps } from "#protocols/ag-ui/routes.ts";
import { readRun, startRun } from "#protocols/ag-ui/routes.ts";
import { refuse, type RestEnv } from "#protocols/rest/context.ts";
import { failure } from "#protocols/rest/errors.ts";
import { isAgentName } from "#shared/ids.ts";

type MountDeps = AgUiDeps & KnownAgents;
const RUN = "/ag-ui/:agent";
const READ = "/ag-ui/:agent/:thread/runs/:run";

export function mountAgUi(app: Hono<RestEnv>, deps: MountDeps): void {
  app.post(RUN, async (c) => {
    c.set("route", RUN);
    const call = await toCall(c, deps);
    return call === null ? refuse(c, failure("agent_unknown")) : startRun(call, c.req.raw);
  });
  app.get(READ, async (c) => {
    c.set("route", READ);
    const call = await toCall(c, deps);
    if (call === null) return refuse(c, failure("not_found"));
    const { thread, run } = c.req.param();
    return readRun(call, { thread, run, headers: c.req.raw.headers });
  });
}

async function toCall(c: Context<RestEnv>, deps: MountDeps): Promise<AgUiCall | null> {
  const principal = c.get("principal");
  const agent = c.req.param("agent") ?? "";
  if (principal === undefined || !isAgentName(agent)) return null;
  const { tenant } = principal;
  const known = await findAgent(deps, { tenant, agent });
  return known !== null ? { deps, principal, agent, requestId: c.get("requestId") } : null;
}
