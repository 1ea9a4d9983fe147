/** Tickets for sockets (P22): what a browser opens one with, because it cannot send a header. */
import { findAgent } from "#auth/known-agents.ts";
import { toCaller } from "#auth/principal.ts";
import type { RestDeps } from "./context.ts";
import { refuse } from "./context.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import type { Router } from "./route.ts";
import { addRoute } from "./route.ts";
import { NoParams, NoQuery } from "./wire.ts";
import { IssueTicketBody, TicketDoc } from "./wire-credentials.ts";

export function addTicketRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "post",
    path: "/tickets",
    id: "issueTicket",
    tag: "tokens",
    summary:
      "Issue a ticket that opens one socket of a thread within 60 s; creates the thread when there is none",
    scope: "threads:write",
    params: NoParams,
    query: NoQuery,
    body: { schema: IssueTicketBody },
    responses: json(201, TicketDoc),
    handle: async ({ c, principal, body }) => {
      if ((await findAgent(deps, { ...principal, agent: body.agent })) === null)
        return refuse(c, failure("agent_unknown"));
      const issued = await deps.tickets.issue({ tenant: principal.tenant, ...body });
      if (issued === null) return refuse(c, failure("config_invalid"));
      const { credential } = principal;
      const stored = await deps.threads.storeTicket(toCaller(principal), body, {
        ...issued,
        credential,
      });
      return stored.ok ? Response.json(issued, { status: 201 }) : refuse(c, stored.error);
    },
  });
}
