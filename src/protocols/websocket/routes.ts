/**
 * Routes of the Agents SDK's clients: `/agents/:agent/:thread`, an upgrade or `get-messages`.
 *
 * P20 an upgrade is authenticated before an object hears of it, by ticket or by header, never by a key in the URL.
 * P21 the object's name is derived here; what reaches the object is a request of our own making, so no header of the
 * client is among those that it trusts. P23 a browser's page has to be of this origin or of one that is configured.
 */
import type { Principal } from "#auth/principal.ts";
import { hasScope, toCaller } from "#auth/principal.ts";
import type { SocketTickets } from "#auth/socket-tickets.ts";
import type { ThreadAccess, ThreadPlace } from "#auth/thread-access.ts";
import type { SocketOpening, SocketPass } from "#ports/socket-pass.ts";
import type { Failure, Reply } from "#ports/thread-gateway.ts";
import type { ErrorCode } from "#shared/errors.ts";
import { isAgentName, isThreadId } from "#shared/ids.ts";
import { err, ok } from "#shared/result.ts";
import { toUiMessages, type UiMessage } from "./ui-messages.ts";

/** Names under which people put keys into URLs. */
const KEYS_IN_URLS = ["key", "token", "api_key", "apikey", "access_token", "authorization"];

export interface SocketRoutesDeps {
  readonly threads: ThreadAccess;
  readonly tickets: SocketTickets;
  readonly isAgent: (name: string) => boolean;
  /** Origins besides the Worker's own. */
  readonly allowedOrigins: readonly string[];
}

export interface SocketCall {
  readonly request: Request;
  readonly agent: string;
  readonly thread: string;
  /** Null where no header was sent. */
  readonly principal: Principal | null;
}

export function parsePlace(
  { agent, thread }: SocketCall,
  deps: SocketRoutesDeps,
): Reply<ThreadPlace> {
  if (!isAgentName(agent) || !isThreadId(thread) || !deps.isAgent(agent)) {
    return refuse("not_found", "There is no such thread.");
  }
  return ok({ agent, thread });
}

/** Opens a socket: 101, or why not. A thread that is missing is created, as by a first message. */
export async function openSocket(
  deps: SocketRoutesDeps,
  call: SocketCall,
): Promise<Reply<Response>> {
  const url = new URL(call.request.url);
  const named = KEYS_IN_URLS.find((name) => url.searchParams.has(name));
  if (named !== undefined) {
    const message =
      "Keys and tokens do not belong into a URL. Use a ticket of POST /v1/tickets, or a header.";
    return refuse("invalid_request", message);
  }
  const origin = checkOrigin(call.request, deps.allowedOrigins);
  if (!origin.ok) return origin;
  const place = parsePlace(call, deps);
  if (!place.ok) return place;
  const pass = await toPass(deps, call, place.value);
  if (!pass.ok) return pass;
  return deps.threads.connect(pass.value, { headers: upgradeHeaders(call.request) });
}

/** The newest messages of a thread, as `useAgentChat` fetches them; `[]` for a thread that is not there yet. */
export async function getMessages(
  deps: SocketRoutesDeps,
  call: SocketCall,
): Promise<Reply<readonly UiMessage[]>> {
  const { principal } = call;
  if (principal === null) return refuse("unauthenticated", "Send an Authorization header.");
  if (!hasScope(principal, "threads:read")) return missingScope("threads:read");
  const place = parsePlace(call, deps);
  if (!place.ok) return place;
  const caller = toCaller(principal);
  const stub = deps.threads.stub(caller, place.value);
  const snapshot = await stub.chatSnapshot(caller);
  if (!snapshot.ok) return snapshot.error.code === "not_found" ? ok([]) : snapshot;
  return ok(toUiMessages(snapshot.value.views, snapshot.value.open));
}

async function toPass(
  deps: SocketRoutesDeps,
  { request, principal }: SocketCall,
  place: ThreadPlace,
): Promise<Reply<SocketOpening>> {
  const ticket = new URL(request.url).searchParams.get("ticket");
  if (principal !== null) {
    if (!hasScope(principal, "threads:write")) return missingScope("threads:write");
    const pass: SocketPass = {
      type: "caller",
      caller: toCaller(principal),
      credential: principal.credential,
    };
    return ok({ address: { tenant: principal.tenant, ...place }, pass });
  }
  if (ticket === null)
    return refuse("unauthenticated", "A ticket or an Authorization header is needed.");
  const tenant = await deps.tickets.tenantOf(ticket, place);
  if (tenant === null) return refuse("unauthenticated", "The ticket is not valid.");
  return ok({ address: { tenant, ...place }, pass: { type: "ticket", ticket } });
}

/** A program sends no Origin and has no cookies to abuse; it still has to authenticate. */
function checkOrigin(request: Request, allowed: readonly string[]): Reply<null> {
  const origin = request.headers.get("origin");
  if (origin === null || origin === new URL(request.url).origin || allowed.includes(origin)) {
    return ok(null);
  }
  return refuse("forbidden", "This page's origin may not open sockets here.");
}

/** Nothing else of the client's request goes on. */
function upgradeHeaders(request: Request): Headers {
  const headers = new Headers({ upgrade: "websocket" });
  for (const [name, value] of request.headers) {
    if (name.startsWith("sec-websocket-")) headers.set(name, value);
  }
  return headers;
}

function missingScope(scope: string): Reply<never> {
  return refuse("forbidden", `This needs the scope ${scope}.`, { scope });
}

function refuse(code: ErrorCode, message: string, detail: Failure["detail"] = {}): Reply<never> {
  return err({ code, message, detail, retryable: false });
}
