/** Threads: making, finding and reading them, their shared state, and their runs. */
import { findAgent } from "#auth/known-agents.ts";
import type { Principal } from "#auth/principal.ts";
import type { RestDeps } from "./context.ts";
import type { RouteCall, Router } from "./route.ts";
import type { AgentName, ThreadId } from "#shared/ids.ts";
import { toCaller } from "#auth/principal.ts";
import { canonicalJson, utf8 } from "#shared/json.ts";
import { trusted } from "#shared/ids.ts";
import { MAX_JSON_BYTES } from "./body.ts";
import { answer, refuse } from "./context.ts";
import { parseThreadPosition } from "./decode.ts";
import { encodeThreadList, threadPath } from "./encode.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import { addRoute } from "./route.ts";
import {
  AgentParams,
  CreateThreadBody,
  NoParams,
  NoQuery,
  ReceiptDoc,
  AnyJson,
  ThreadDoc,
  ThreadListDoc,
  ThreadListQuery,
  ThreadParams,
} from "./wire.ts";

const thread = { tag: "threads", params: ThreadParams, query: NoQuery } as const;

export function addThreadRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: "/threads",
    id: "listAllThreads",
    tag: "threads",
    summary: "List your threads of all agents, newest first",
    scope: "threads:read",
    params: NoParams,
    query: ThreadListQuery,
    responses: json(200, ThreadListDoc),
    handle: (call) => listThreads(deps, call, null),
  });
  addRoute(router, {
    method: "get",
    path: "/agents/{agent}/threads",
    id: "listThreads",
    tag: "threads",
    summary: "List your threads of one agent, newest first",
    scope: "threads:read",
    params: AgentParams,
    query: ThreadListQuery,
    responses: json(200, ThreadListDoc),
    handle: (call) => listThreads(deps, call, call.params.agent),
  });
  addCreateRoute(router, deps);
  addRoute(router, {
    ...thread,
    method: "get",
    path: "/agents/{agent}/threads/{thread}",
    id: "getThread",
    summary: "Get a thread",
    scope: "threads:read",
    responses: json(200, ThreadDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      return answer(c, await deps.threads.stub(caller, params).view(caller), (view) => view);
    },
  });
  addStateRoutes(router, deps);
}

function addCreateRoute(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "post",
    path: "/agents/{agent}/threads",
    id: "createThread",
    tag: "threads",
    summary: "Create a thread",
    scope: "threads:write",
    params: AgentParams,
    query: NoQuery,
    body: { schema: CreateThreadBody, optional: true },
    idempotent: true,
    responses: json(201, ThreadDoc),
    handle: async ({ c, principal, params, body, idempotencyKey }) => {
      const { agent } = params;
      if ((await findAgent(deps, { ...principal, agent })) === null)
        return refuse(c, failure("agent_unknown"));
      const place = {
        agent,
        thread: body.id ?? newThreadId(deps, { principal, agent, idempotencyKey }),
      };
      const { title = null } = body;
      const created = await deps.threads.create(toCaller(principal), place, {
        title,
        idempotencyKey,
      });
      if (!created.ok) return refuse(c, created.error);
      return Response.json(created.value, {
        status: 201,
        headers: { location: threadPath(place) },
      });
    },
  });
}

function addStateRoutes(router: Router, deps: RestDeps): void {
  const path = "/agents/{agent}/threads/{thread}/state";
  addRoute(router, {
    ...thread,
    method: "get",
    path,
    id: "getState",
    summary: "Get the thread's shared state",
    scope: "threads:read",
    responses: json(200, AnyJson),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      return answer(c, await deps.threads.stub(caller, params).view(caller), (view) => view.state);
    },
  });
  addRoute(router, {
    ...thread,
    method: "put",
    path,
    id: "putState",
    summary: "Replace the thread's shared state",
    scope: "threads:write",
    body: { schema: AnyJson, limit: { maxBytes: MAX_JSON_BYTES, code: "state_too_large" } },
    idempotent: true,
    responses: json(200, ReceiptDoc),
    handle: async ({ c, principal, params, body, idempotencyKey }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.putState(caller, body, idempotencyKey), (receipt) => receipt);
    },
  });
}

async function listThreads(
  { directory }: RestDeps,
  {
    c,
    principal,
    query,
  }: RouteCall<unknown, { after?: string | undefined; limit: number }, unknown>,
  agent: AgentName | null,
): Promise<Response> {
  const after = query.after === undefined ? null : parseThreadPosition(query.after);
  if (after !== null && !after.ok) return refuse(c, after.error);
  const records = await directory.list({
    tenant: principal.tenant,
    visible: principal.kind === "user" ? { to: "owner", owner: principal.id } : { to: "tenant" },
    agent,
    after: after === null ? null : after.value,
    limit: query.limit,
  });
  return Response.json(encodeThreadList(records, query.limit));
}

/** With a key the id follows from it, so that a repeated creation meets the thread it made first (K2). */
function newThreadId(
  { ids, hasher }: RestDeps,
  from: {
    readonly principal: Principal;
    readonly agent: AgentName;
    readonly idempotencyKey: string | null;
  },
): ThreadId {
  const { principal, agent, idempotencyKey } = from;
  if (idempotencyKey === null) return trusted<ThreadId>(ids.next("thr"));
  const seed = canonicalJson(["thread", principal.tenant, principal.id, agent, idempotencyKey]);
  return trusted<ThreadId>(`thr_${hasher.sha256(utf8(seed)).slice(0, 32)}`);
}
