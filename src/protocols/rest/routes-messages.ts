/** Messages and the runs they start. */
import { findAgent } from "#auth/known-agents.ts";
import type { RestDeps, RestContext } from "./context.ts";
import type { Router } from "./route.ts";
import type { Caller, StreamCursor } from "#ports/thread-gateway.ts";
import type { ThreadPlace } from "#auth/thread-access.ts";
import { toCaller } from "#auth/principal.ts";
import { answer, refuse } from "./context.ts";
import { acceptsEventStream } from "./decode.ts";
import { encodeMessageReceipt } from "./encode.ts";
import { failure } from "./errors.ts";
import { json, withEventStream } from "./responses.ts";
import { addRoute } from "./route.ts";
import { EVENT_STREAM_HEADERS, toEventStream } from "./sse.ts";
import {
  CancelRunBody,
  MessageDoc,
  MessageReceiptDoc,
  MessagesQuery,
  NoQuery,
  PageQuery,
  ReceiptDoc,
  RunDoc,
  RunParams,
  SendMessageBody,
  ThreadParams,
  pageOf,
} from "./wire.ts";

const BASE = "/agents/{agent}/threads/{thread}";

export function addMessageRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "post",
    path: `${BASE}/messages`,
    id: "sendMessage",
    tag: "messages",
    summary:
      "Send a message; creates the thread when there is none. With Accept: text/event-stream, stream its run",
    scope: "threads:write",
    params: ThreadParams,
    query: NoQuery,
    body: { schema: SendMessageBody },
    idempotent: true,
    startsRun: true,
    responses: {
      ...withEventStream({}, 200),
      ...json(202, MessageReceiptDoc, "Accepted and durable."),
    },
    handle: async ({ c, principal, params, body, idempotencyKey }) => {
      if ((await findAgent(deps, { ...principal, agent: params.agent })) === null)
        return refuse(c, failure("agent_unknown"));
      const caller = toCaller(principal);
      const message = { ...body, messageId: body.messageId ?? null };
      const sent = await deps.threads.send(caller, params, { message, idempotencyKey });
      if (!sent.ok) return refuse(c, sent.error);
      const receipt = encodeMessageReceipt(params, sent.value);
      const headers = { location: receipt.run ?? receipt.stream };
      if (!acceptsEventStream(c.req.header("accept")) || receipt.runId === null) {
        return Response.json(receipt, { status: 202, headers });
      }
      const from = { seq: receipt.seq, attempt: 0, offset: 0 };
      const options = { from, runId: receipt.runId, deltas: true };
      return streamThread(deps, c, { caller, place: params, options, headers });
    },
  });

  addRoute(router, {
    method: "get",
    path: `${BASE}/messages`,
    id: "listMessages",
    tag: "messages",
    summary: "List the messages of a branch, oldest first",
    scope: "threads:read",
    params: ThreadParams,
    query: MessagesQuery,
    responses: json(200, pageOf(MessageDoc, "MessagePage")),
    handle: async ({ c, principal, params, query }) => {
      const caller = toCaller(principal);
      const { branch = null, ...page } = query;
      const messages = await deps.threads
        .stub(caller, params)
        .messages(caller, { ...page, branch });
      return answer(c, messages, (found) => found);
    },
  });
}

export function addRunRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: `${BASE}/runs`,
    id: "listRuns",
    tag: "runs",
    summary: "List the runs of a thread, oldest first",
    scope: "threads:read",
    params: ThreadParams,
    query: PageQuery,
    responses: json(200, pageOf(RunDoc, "RunPage")),
    handle: async ({ c, principal, params, query }) => {
      const caller = toCaller(principal);
      return answer(c, await deps.threads.stub(caller, params).runs(caller, query), (page) => page);
    },
  });
  addRoute(router, {
    method: "get",
    path: `${BASE}/runs/{run}`,
    id: "getRun",
    tag: "runs",
    summary: "Get a run with its result and cost",
    scope: "threads:read",
    params: RunParams,
    query: NoQuery,
    responses: json(200, RunDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      return answer(
        c,
        await deps.threads.stub(caller, params).run(caller, params.run),
        (run) => run,
      );
    },
  });
  addRoute(router, {
    method: "post",
    path: `${BASE}/runs/{run}/cancel`,
    id: "cancelRun",
    tag: "runs",
    summary: "Cancel a run; returns when that is durable",
    scope: "threads:write",
    params: RunParams,
    query: NoQuery,
    body: { schema: CancelRunBody, optional: true },
    responses: json(200, ReceiptDoc),
    handle: async ({ c, principal, params, body }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.cancel(caller, params.run, body.reason), (receipt) => receipt);
    },
  });
}

export interface StreamRequest {
  readonly caller: Caller;
  readonly place: ThreadPlace;
  readonly options: {
    readonly from: StreamCursor;
    readonly runId: string | null;
    readonly deltas: boolean;
  };
  readonly headers?: { readonly [name: string]: string };
}

export async function streamThread(
  deps: RestDeps,
  c: RestContext,
  request: StreamRequest,
): Promise<Response> {
  const { caller, place, options } = request;
  const headers = { ...EVENT_STREAM_HEADERS, ...request.headers };
  const stub = deps.threads.stub(caller, place);
  if (c.req.method === "HEAD") {
    // The body of a HEAD answer is thrown away unread, which would leave the thread streaming to nobody.
    const view = await stub.view(caller);
    return view.ok ? new Response(null, { headers }) : refuse(c, view.error);
  }
  const frames = await stub.stream(caller, options);
  if (!frames.ok) return refuse(c, frames.error);
  return new Response(toEventStream(frames.value, { requestId: c.get("requestId") }), { headers });
}
