/**
 * Clients of revision 2025-11-25 and before, on the same endpoint and as stateless: a session is a signed word of its client
 * (P105), a request of ours names what it asks about, so that its answer finds it from anywhere (P102), and a broken stream
 * goes on by `Last-Event-ID` from the log (P106).
 */
import {
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  WebStandardStreamableHTTPServerTransport,
  type AuthInfo,
  type JSONRPCMessage,
  type McpServer,
} from "@modelcontextprotocol/server";
import { toCaller } from "#auth/principal.ts";
import { isJsonObject, type Json } from "#shared/json.ts";
import { requireScopes } from "./access.ts";
import { idsOf, NO_ABILITIES, stubOf, type McpCall, type StreamPosition } from "./call.ts";
import { toError } from "./errors.ts";
import { resumeStream } from "./resume.ts";
import { parseAskId } from "./follow.ts";
import { decideAll } from "./standing.ts";
import { issueSession, readSession, SESSION_HEADER, type SessionDeps } from "./session.ts";
import { toEventId } from "./stream-position.ts";
import { toThreadId } from "./wire.ts";

/** How soon a client that was sent away comes back. */
const RETRY_MS = 1_000;
const NO_SESSION = { code: -32_001, message: "Session not found" };

export interface OlderRequest {
  readonly call: Omit<McpCall, "older">;
  readonly sessions: SessionDeps;
  readonly request: Request;
  /** Undefined where there is none, or it is no JSON. */
  readonly body: unknown;
  readonly authInfo: AuthInfo | undefined;
  readonly createServer: (call: McpCall) => McpServer;
}

export async function serveOlder(older: OlderRequest): Promise<Response> {
  const { call, sessions, request, body, authInfo, createServer } = older;
  const header = request.headers.get(SESSION_HEADER);
  const abilities = header === null ? NO_ABILITIES : await readSession(sessions, call, header);
  if (abilities === null) return toError(404, NO_SESSION);
  const session = header === null || sessions.secret === null ? null : header;
  const position: StreamPosition = {
    tool: null,
    progressToken: toProgressToken(body),
    thread: null,
    message: null,
    seq: 0,
  };
  const exchange = new Exchange(position, body);
  const own: McpCall = {
    ...call,
    older: { session, abilities, asTask: isTask(body), ask: exchange.ask, position },
  };
  if (request.method === "GET") return resumeStream(own, request);
  if (request.method !== "POST")
    return toError(405, { code: -32_000, message: "Method not allowed." }, { allow: "GET, POST" });
  if (await takeAnswer(own, body)) return new Response(null, { status: 202 });
  if (await takeCancellation(own, body)) return new Response(null, { status: 202 });
  foresee(own, body, position);
  const server = createServer(own);
  const response = await exchange.serve(server, request, authInfo);
  if (!isInitialize(body)) return response;
  const issued = await issueSession(sessions, call, body.params.capabilities);
  if (issued === null || !response.ok) return response;
  const headers = new Headers(response.headers);
  headers.set(SESSION_HEADER, issued);
  return new Response(response.body, { status: response.status, headers });
}

/** One POST: its transport, and the requests of ours that go out on its stream. */
class Exchange {
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #body: unknown;
  readonly #position: StreamPosition;

  constructor(position: StreamPosition, body: unknown) {
    this.#position = position;
    this.#body = body;
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      retryInterval: RETRY_MS,
      // Ids only: what a client missed is read from the log again.
      eventStore: {
        storeEvent: async () => this.#eventId(),
        replayEventsAfter: async () => "",
      },
    });
  }

  readonly ask: NonNullable<McpCall["older"]>["ask"] = async ({ id, method, params }) => {
    const message = { jsonrpc: "2.0", id, method, params } as unknown as JSONRPCMessage;
    await this.#transport.send(message, { relatedRequestId: this.#requestId });
  };

  async serve(
    server: McpServer,
    request: Request,
    authInfo: AuthInfo | undefined,
  ): Promise<Response> {
    await server.connect(this.#transport);
    return this.#transport.handleRequest(request, {
      ...(this.#body === undefined ? {} : { parsedBody: this.#body }),
      ...(authInfo === undefined ? {} : { authInfo }),
    });
  }

  get #requestId(): string | number {
    const id = isJsonObject(this.#body) ? this.#body["id"] : null;
    return typeof id === "string" || typeof id === "number" ? id : "";
  }

  /** Of a call without a run nothing can be told again: its id leads nowhere. */
  #eventId(): string {
    return toEventId(this.#position, this.#requestId) ?? crypto.randomUUID();
  }
}

/** Names the thread of the call before its stream begins, so that even its first event can be come back for. */
function foresee(call: McpCall, body: unknown, position: StreamPosition): void {
  if (!isJsonObject(body) || body["method"] !== "tools/call" || call.older?.session == null) return;
  const { id, params } = body;
  if ((typeof id !== "string" && typeof id !== "number") || !isJsonObject(params)) return;
  const { name, arguments: args } = params;
  const isExported = call.exports.tools.some((tool) => tool.name === name);
  if (name !== "ask" && !isExported) return;
  const named = isJsonObject(args) && name === "ask" ? args["thread"] : undefined;
  const minted = idsOf(call, id);
  position.tool = isExported ? String(name) : null;
  position.thread = toThreadId(typeof named === "string" ? named : minted.thread);
  position.message = minted.message;
}

/** An answer to a request of ours, which came on a stream that may be another isolate's. */
async function takeAnswer(call: McpCall, body: unknown): Promise<boolean> {
  if (!isJSONRPCResultResponse(body) && !isJSONRPCErrorResponse(body)) return false;
  const asked = parseAskId(body.id ?? null);
  const thread = asked === null ? null : toThreadId(asked.thread);
  if (asked === null || thread === null || !requireScopes(call, ["threads:read"]).ok) return true;
  // A client that cannot answer leaves the question to whoever can.
  if (!("result" in body)) return true;
  const approval = await stubOf(call, thread).approval(toCaller(call.principal), asked.approval);
  if (!approval.ok) return true;
  const key = approval.value.client?.key ?? approval.value.approvalId;
  // JSON-RPC brought it, so it is JSON.
  const responses = { [key]: body.result as unknown as Json };
  await decideAll(call, thread, { open: [approval.value], responses });
  return true;
}

/** The thread of a call follows from its session and request (call.ts), so its cancellation needs no memory. */
async function takeCancellation(call: McpCall, body: unknown): Promise<boolean> {
  if (!isJsonObject(body) || body["method"] !== "notifications/cancelled") return false;
  const { params } = body;
  const requestId = isJsonObject(params) ? params["requestId"] : null;
  if (call.older?.session == null) return true;
  if (typeof requestId !== "string" && typeof requestId !== "number") return true;
  const { thread } = idsOf(call, requestId);
  const caller = toCaller(call.principal);
  const stub = stubOf(call, thread);
  const runs = await stub.runs(caller, { after: 0, limit: 1 });
  const run = runs.ok ? runs.value.items[0] : undefined;
  if (run !== undefined) await stub.cancel(caller, run.runId, "the MCP client cancelled its call");
  return true;
}

function isInitialize(
  body: unknown,
): body is { readonly params: { readonly capabilities: unknown } } {
  return isInitializeRequest(body);
}

function toProgressToken(body: unknown): string | number | null {
  const params = isJsonObject(body) ? body["params"] : null;
  const meta = isJsonObject(params) ? params["_meta"] : null;
  const token = isJsonObject(meta) ? meta["progressToken"] : null;
  return typeof token === "string" || typeof token === "number" ? token : null;
}

function isTask(body: unknown): boolean {
  const params = isJsonObject(body) ? body["params"] : null;
  return isJsonObject(params) && isJsonObject(params["task"]);
}
