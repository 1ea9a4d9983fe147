/** Where clients of the Agents SDK come in: `/agents/:agent/:thread` and its `get-messages`. */
import type { Context, Hono } from "hono";
import type { Authenticate } from "#auth/authenticate.ts";
import type { Principal } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { SocketTickets } from "#auth/socket-tickets.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import { refuse, type AgentEntry, type RestDeps, type RestEnv } from "#protocols/rest/context.ts";
import { failure, rateLimited } from "#protocols/rest/errors.ts";
import {
  getMessages,
  openSocket,
  type SocketCall,
  type SocketRoutesDeps,
} from "#protocols/websocket/routes.ts";
import { isAgentName, isThreadId } from "#shared/ids.ts";
import { err, ok, type Result } from "#shared/result.ts";

export interface SocketsDeps {
  readonly threads: ThreadAccess;
  readonly tickets: SocketTickets;
  readonly agents: readonly AgentEntry[];
  readonly allowedOrigins: readonly string[];
  readonly authenticate: Authenticate;
  readonly limits: RateLimits;
  readonly promoted: RestDeps["promoted"];
  readonly deferTo: (c: Context<RestEnv>) => (work: Promise<void>) => void;
}

const PATH = "/agents/:agent/:thread";

export function mountSockets(app: Hono<RestEnv>, deps: SocketsDeps): void {
  const names = new Set(deps.agents.map(({ manifest }) => manifest.name));
  const routesFor = async (call: SocketCall): Promise<SocketRoutesDeps> => {
    const isKnown = names.has(call.agent) || (await isStored(call, deps));
    return { ...deps, isAgent: () => isKnown };
  };
  app.get(PATH, async (c) => {
    c.set("route", PATH);
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
      return refuse(c, failure("not_found"));
    }
    const call = await toCall(c, deps);
    const opened = call.ok ? await openSocket(await routesFor(call.value), call.value) : call;
    return opened.ok ? passOn(opened.value) : refuse(c, opened.error);
  });
  app.get(`${PATH}/get-messages`, async (c) => {
    c.set("route", `${PATH}/get-messages`);
    const call = await toCall(c, deps);
    const messages = call.ok ? await getMessages(await routesFor(call.value), call.value) : call;
    return messages.ok ? Response.json(messages.value) : refuse(c, messages.error);
  });
}

/** A header that was sent has to be valid, whatever else was sent beside it. */
async function toCall(
  c: Context<RestEnv>,
  deps: SocketsDeps,
): Promise<Result<SocketCall, ReturnType<typeof failure>>> {
  const header = c.req.header("authorization") ?? null;
  let principal: Principal | null = null;
  if (header !== null) {
    const authenticated = await deps.authenticate(header, deps.deferTo(c));
    if (!authenticated.ok) {
      c.set("errorReason", authenticated.error);
      return err(failure("unauthenticated"));
    }
    principal = authenticated.value;
    c.set("principal", principal);
    const wait = deps.limits.take("request", principal);
    if (wait !== null) return err(rateLimited(wait));
  }
  const { agent = "", thread = "" } = c.req.param();
  return ok({ request: c.req.raw, agent, thread, principal });
}

/** Only of the caller's own tenant; who has not said who it is has none. */
async function isStored(
  { request, agent, thread, principal }: SocketCall,
  { tickets, promoted }: SocketsDeps,
): Promise<boolean> {
  if (!isAgentName(agent) || !isThreadId(thread)) return false;
  const ticket = new URL(request.url).searchParams.get("ticket");
  const tenant =
    principal?.tenant ??
    (ticket === null ? null : await tickets.tenantOf(ticket, { agent, thread }));
  return tenant !== null && (await promoted.get({ tenant, agent })) !== null;
}

/** The object's socket under headers of our own: those of a fetched response cannot be changed. */
function passOn(response: Response): Response {
  const { webSocket } = response;
  return new Response(null, { status: 101, ...(webSocket === null ? {} : { webSocket }) });
}
