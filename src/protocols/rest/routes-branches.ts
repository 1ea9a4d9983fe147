/** Branches of a conversation: another answer, another text, an empty window, and the way back (K41 to K44). */
import type { Receipt } from "#kernel/commands.ts";
import type { Reply } from "#ports/thread-gateway.ts";
import type { ThreadPlace } from "#auth/thread-access.ts";
import { toCaller } from "#auth/principal.ts";
import { answer, refuse, type RestContext, type RestDeps } from "./context.ts";
import { encodeMessageReceipt } from "./encode.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import {
  BranchListDoc,
  BranchParams,
  EditMessageBody,
  MessageParams,
  MessageReceiptDoc,
  NoQuery,
  ReceiptDoc,
  ThreadParams,
} from "./wire.ts";

const BASE = "/agents/{agent}/threads/{thread}";

export function addBranchRoutes(router: Router, deps: RestDeps): void {
  addAnswerRoutes(router, deps);
  addRoute(router, {
    method: "post",
    path: `${BASE}/clear`,
    id: "clearThread",
    tag: "branches",
    summary: "Begin with an empty window; log, files and state stay",
    scope: "threads:write",
    params: ThreadParams,
    query: NoQuery,
    idempotent: true,
    responses: json(200, ReceiptDoc),
    handle: async ({ c, principal, params, idempotencyKey }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.clearWindow(caller, idempotencyKey), (receipt) => receipt);
    },
  });
  addRoute(router, {
    method: "get",
    path: `${BASE}/branches`,
    id: "listBranches",
    tag: "branches",
    summary: "List the branches of a thread, oldest first",
    scope: "threads:read",
    params: ThreadParams,
    query: NoQuery,
    responses: json(200, BranchListDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const branches = await deps.threads.stub(caller, params).branches(caller);
      return answer(c, branches, (items) => ({ items }));
    },
  });
  addRoute(router, {
    method: "post",
    path: `${BASE}/branches/{branch}/select`,
    id: "selectBranch",
    tag: "branches",
    summary: "Go on in another branch: its window is restored. Files are not rolled back",
    scope: "threads:write",
    params: BranchParams,
    query: NoQuery,
    idempotent: true,
    responses: json(200, ReceiptDoc),
    handle: async ({ c, principal, params, idempotencyKey }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      const selected = await stub.selectBranch(caller, params.branch, idempotencyKey);
      return answer(c, selected, (receipt) => receipt);
    },
  });
}

function addAnswerRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "post",
    path: `${BASE}/messages/{message}/regenerate`,
    id: "regenerateMessage",
    tag: "branches",
    summary: "Answer a message again, in a new branch; the answer it had stays, superseded",
    scope: "threads:write",
    params: MessageParams,
    query: NoQuery,
    idempotent: true,
    startsRun: true,
    responses: json(202, MessageReceiptDoc, "Accepted and durable."),
    handle: async ({ c, principal, params, idempotencyKey }) => {
      const caller = toCaller(principal);
      const request = { messageId: params.message, idempotencyKey };
      return accepted(
        c,
        params,
        await deps.threads.stub(caller, params).regenerate(caller, request),
      );
    },
  });
  addRoute(router, {
    method: "post",
    path: `${BASE}/messages/{message}/edit`,
    id: "editMessage",
    tag: "branches",
    summary: "Replace a user message and answer it, in a new branch",
    scope: "threads:write",
    params: MessageParams,
    query: NoQuery,
    body: { schema: EditMessageBody },
    idempotent: true,
    startsRun: true,
    responses: json(202, MessageReceiptDoc, "Accepted and durable."),
    handle: async ({ c, principal, params, body, idempotencyKey }) => {
      const caller = toCaller(principal);
      const { text, messageId = null } = body;
      const request = { messageId: params.message, text, newMessageId: messageId, idempotencyKey };
      return accepted(c, params, await deps.threads.stub(caller, params).edit(caller, request));
    },
  });
}

function accepted(c: RestContext, place: ThreadPlace, reply: Reply<Receipt>): Response {
  if (!reply.ok) return refuse(c, reply.error);
  const receipt = encodeMessageReceipt(place, reply.value);
  return Response.json(receipt, {
    status: 202,
    headers: { location: receipt.run ?? receipt.stream },
  });
}
