/** Erasure of what a thread or one run holds, and its receipt (H30 to H35). */
import type { SubjectErasureView } from "#ports/subject-gateway.ts";
import type { ErasureView, Reply } from "#ports/thread-gateway.ts";
import { toCaller } from "#auth/principal.ts";
import type { RestContext, RestDeps } from "./context.ts";
import { answer, refuse } from "./context.ts";
import { json } from "./responses.ts";
import type { Router } from "./route.ts";
import { addRoute } from "./route.ts";
import { EraseBody, ErasureDoc, SubjectErasureDoc, SubjectParams } from "./wire-erasure.ts";
import { NoQuery, RunParams, ThreadParams } from "./wire.ts";

const BASE = "/agents/{agent}/threads/{thread}";
const RESPONSES = {
  ...json(200, ErasureDoc, "Done: the receipt. The same again as long as nothing was added."),
  ...json(202, ErasureDoc, "Recorded; it goes on by itself."),
};

export function addErasureRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "post",
    path: `${BASE}/erase`,
    id: "eraseThread",
    tag: "erasure",
    summary: "Erase all content of a thread; headers, chain, counts and costs stay",
    scope: "erase",
    params: ThreadParams,
    query: NoQuery,
    body: { schema: EraseBody, optional: true },
    responses: RESPONSES,
    handle: async ({ c, principal, params, body }) => {
      const caller = toCaller(principal);
      const request = { runId: null, live: body.live, origin: null };
      return answerErasure(
        c,
        await deps.threads.stub(caller, params).eraseContent(caller, request),
      );
    },
  });

  addRoute(router, {
    method: "post",
    path: `${BASE}/runs/{run}/erase`,
    id: "eraseRun",
    tag: "erasure",
    summary: "Erase all content of one run; the rest of the thread stays as it is",
    scope: "erase",
    params: RunParams,
    query: NoQuery,
    body: { schema: EraseBody, optional: true },
    responses: RESPONSES,
    handle: async ({ c, principal, params, body }) => {
      const caller = toCaller(principal);
      const request = { runId: params.run, live: body.live, origin: null };
      return answerErasure(
        c,
        await deps.threads.stub(caller, params).eraseContent(caller, request),
      );
    },
  });

  addReadRoutes(router, deps);
  addSubjectRoutes(router, deps);
}

function addReadRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: `${BASE}/erasure`,
    id: "threadErasure",
    tag: "erasure",
    summary: "The newest erasure of a thread",
    scope: "erase",
    params: ThreadParams,
    query: NoQuery,
    responses: json(200, ErasureDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      return answer(c, await deps.threads.stub(caller, params).erasure(caller, null), asIs);
    },
  });

  addRoute(router, {
    method: "get",
    path: `${BASE}/runs/{run}/erasure`,
    id: "runErasure",
    tag: "erasure",
    summary: "The newest erasure that reached a run",
    scope: "erase",
    params: RunParams,
    query: NoQuery,
    responses: json(200, ErasureDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      return answer(c, await deps.threads.stub(caller, params).erasure(caller, params.run), asIs);
    },
  });
}

function addSubjectRoutes(router: Router, deps: RestDeps): void {
  const path = "/subjects/{subject}";
  addRoute(router, {
    method: "post",
    path: `${path}/erase`,
    id: "eraseSubject",
    tag: "erasure",
    summary: "Erase all content of every thread that a user owns now",
    scope: "erase",
    params: SubjectParams,
    query: NoQuery,
    body: { schema: EraseBody, optional: true },
    responses: {
      ...json(200, SubjectErasureDoc, "Done: the receipt. The same again while nothing was added."),
      ...json(202, SubjectErasureDoc, "Recorded; it goes on by itself."),
    },
    handle: async ({ c, principal, params, body }) => {
      const stub = deps.subjects.subject(principal.tenant, params.subject);
      return answerErasure(c, await stub.eraseSubject(toCaller(principal), body.live));
    },
  });

  addRoute(router, {
    method: "get",
    path: `${path}/erasure`,
    id: "subjectErasure",
    tag: "erasure",
    summary: "The newest erasure of a user",
    scope: "erase",
    params: SubjectParams,
    query: NoQuery,
    responses: json(200, SubjectErasureDoc),
    handle: async ({ c, principal, params }) => {
      const stub = deps.subjects.subject(principal.tenant, params.subject);
      return answer(c, await stub.subjectErasure(toCaller(principal)), (view) => view);
    },
  });
}

const asIs = (view: ErasureView): ErasureView => view;

function answerErasure(c: RestContext, reply: Reply<ErasureView | SubjectErasureView>): Response {
  if (!reply.ok) return refuse(c, reply.error);
  return Response.json(reply.value, { status: reply.value.status === "done" ? 200 : 202 });
}
