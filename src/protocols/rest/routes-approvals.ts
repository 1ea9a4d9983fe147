/** Approvals: what waits for a person, over all threads and in one, and the decisions. */
import { toCaller } from "#auth/principal.ts";
import type { InboxEntry } from "#ports/approval-inbox.ts";
import { answer, refuse, type RestDeps } from "./context.ts";
import { parseInboxPosition } from "./decode.ts";
import { threadPath } from "./encode.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import { NoParams, NoQuery, pageOf, ThreadParams } from "./wire.ts";
import {
  ApprovalDoc,
  ApprovalParams,
  ApprovalsQuery,
  DecisionBody,
  InboxDoc,
  InboxQueryParams,
} from "./wire-approvals.ts";

const BASE = "/agents/{agent}/threads/{thread}/approvals";

export function addApprovalRoutes(router: Router, deps: RestDeps): void {
  addInboxRoute(router, deps);
  addRoute(router, {
    method: "get",
    path: BASE,
    id: "listApprovals",
    tag: "approvals",
    summary: "List the approvals of a thread, oldest first",
    scope: "threads:read",
    params: ThreadParams,
    query: ApprovalsQuery,
    responses: json(200, pageOf(ApprovalDoc, "ApprovalPage")),
    handle: async ({ c, principal, params, query }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.approvals(caller, query), (page) => page);
    },
  });
  addRoute(router, {
    method: "get",
    path: `${BASE}/{approval}`,
    id: "getApproval",
    tag: "approvals",
    summary: "Get an approval: exactly what would run, or the question",
    scope: "threads:read",
    params: ApprovalParams,
    query: NoQuery,
    responses: json(200, ApprovalDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.approval(caller, params.approval), (approval) => approval);
    },
  });
  addRoute(router, {
    method: "post",
    path: `${BASE}/{approval}/decision`,
    id: "decideApproval",
    tag: "approvals",
    summary:
      "Approve, deny or answer. Decided once: a later attempt is 409 with the decision and who made it. " +
      "The thread's owner decides with threads:write, anybody else of the tenant with approvals:decide",
    // Nobody decides what it may not read. Which scope it needs beside follows from the owner, whom the object knows (A8).
    scope: "threads:read",
    params: ApprovalParams,
    query: NoQuery,
    body: { schema: DecisionBody },
    idempotent: true,
    responses: json(200, ApprovalDoc),
    handle: async ({ c, principal, params, body, idempotencyKey }) => {
      const caller = toCaller(principal);
      const { decision, comment = null, answer: said = null } = body;
      const asked = { approvalId: params.approval, decision, comment, answer: said };
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.decide(caller, asked, idempotencyKey), (approval) => approval);
    },
  });
}

function addInboxRoute(router: Router, { inbox }: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: "/approvals",
    id: "listInbox",
    tag: "approvals",
    summary:
      "List what waits for a person in all your threads, newest first. It may lag by seconds",
    scope: "threads:read",
    params: NoParams,
    query: InboxQueryParams,
    responses: json(200, InboxDoc),
    handle: async ({ c, principal, query }) => {
      const after = query.after === undefined ? null : parseInboxPosition(query.after);
      if (after !== null && !after.ok) return refuse(c, after.error);
      const entries = await inbox.list({
        tenant: principal.tenant,
        visible:
          principal.kind === "user" ? { to: "owner", owner: principal.id } : { to: "tenant" },
        state: query.state,
        after: after === null ? null : after.value,
        limit: query.limit,
      });
      const last = entries.length === query.limit ? entries.at(-1) : undefined;
      return Response.json({
        items: entries.map(encodeEntry),
        next: last === undefined ? null : `${last.requestedAt}.${last.approval}`,
      });
    },
  });
}

function encodeEntry({ tenant: _tenant, ...entry }: InboxEntry) {
  return { ...entry, path: `${threadPath(entry)}/approvals/${entry.approval}` };
}
