/** The thread's log: as pages, as a live stream, and erasure of one payload. */
import type { RestDeps } from "./context.ts";
import type { Router } from "./route.ts";
import { toCaller } from "#auth/principal.ts";
import { answer, refuse } from "./context.ts";
import { acceptsEventStream, parseCursor } from "./decode.ts";
import { json, withEventStream } from "./responses.ts";
import { addRoute } from "./route.ts";
import { streamThread } from "./routes-messages.ts";
import {
  ErasedDoc,
  EventDoc,
  EventParams,
  EventsQuery,
  NoQuery,
  ThreadParams,
  pageOf,
} from "./wire.ts";

const BASE = "/agents/{agent}/threads/{thread}";

export function addEventRoutes(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "get",
    path: `${BASE}/events`,
    id: "listEvents",
    tag: "events",
    summary:
      "Read the log: a page, or with Accept: text/event-stream everything after a position and then live",
    scope: "threads:read",
    params: ThreadParams,
    query: EventsQuery,
    responses: withEventStream(json(200, pageOf(EventDoc, "EventPage")), 200),
    handle: async ({ c, principal, params, query }) => {
      const caller = toCaller(principal);
      if (!acceptsEventStream(c.req.header("accept"))) {
        const { after, limit } = query;
        const page = await deps.threads.stub(caller, params).events(caller, { after, limit });
        return answer(c, page, (value) => value);
      }
      const lastId = c.req.header("last-event-id");
      const from =
        lastId === undefined
          ? parseCursor(query.from ?? "0", "from")
          : parseCursor(lastId, "Last-Event-ID");
      if (!from.ok) return refuse(c, from.error);
      const options = { from: from.value, runId: query.run ?? null, deltas: query.deltas === "1" };
      return streamThread(deps, c, { caller, place: params, options });
    },
  });

  addEraseRoute(router, deps);
}

function addEraseRoute(router: Router, deps: RestDeps): void {
  addRoute(router, {
    method: "post",
    path: `${BASE}/events/{seq}/erase`,
    id: "eraseEvent",
    tag: "events",
    summary: "Erase the payload of one event; the chain still verifies",
    scope: "erase",
    params: EventParams,
    query: NoQuery,
    responses: json(200, ErasedDoc),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.erasePayload(caller, params.seq), (erased) => erased);
    },
  });
}
