/** The thread's log: as pages, as a live stream, as an export for verification, and erasure of one payload. */
import type { ExportFormat, RestDeps } from "./context.ts";
import type { Router } from "./route.ts";
import type { Caller, Page, Reply, ThreadStub } from "#ports/thread-gateway.ts";
import type { LogHead, RawEvent } from "#ports/event-log.ts";
import { toCaller } from "#auth/principal.ts";
import { AppError } from "#shared/errors.ts";
import { invariant } from "#shared/exhaustive.ts";
import { isJsonObject, utf8 } from "#shared/json.ts";
import { answer, refuse } from "./context.ts";
import { acceptsEventStream, parseCursor } from "./decode.ts";
import { binary, json, withEventStream } from "./responses.ts";
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
const EXPORT_PAGE = 100;

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

  addRoute(router, {
    method: "get",
    path: `${BASE}/export`,
    id: "exportThread",
    tag: "events",
    summary: "Export the stored log as JSON Lines, to be verified without this service",
    scope: "audit",
    params: ThreadParams,
    query: NoQuery,
    responses: binary("application/jsonl", "One stored event a line."),
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const source = { caller, stub: deps.threads.stub(caller, params) };
      const view = await source.stub.view(caller);
      if (!view.ok) return refuse(c, view.error);
      const first = await readExport(source, 0);
      if (!first.ok) return refuse(c, first.error);
      const { head } = view.value;
      return new Response(
        exportLines({ source, first: first.value, head, format: deps.exportFormat }),
        {
          headers: {
            "content-type": "application/jsonl",
            "content-disposition": `attachment; filename="${params.thread}.jsonl"`,
          },
        },
      );
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

interface ExportSource {
  readonly caller: Caller;
  readonly stub: ThreadStub;
}

function readExport({ stub, caller }: ExportSource, after: number): Promise<Reply<Page<RawEvent>>> {
  return stub.export(caller, { after, limit: EXPORT_PAGE });
}

/**
 * The log up to the head as it was when the export began. A page that fails breaks the connection off: an export that
 * ends early must not look like a whole one.
 */
function exportLines(log: {
  readonly source: ExportSource;
  readonly first: Page<RawEvent>;
  readonly head: LogHead;
  readonly format: ExportFormat;
}): ReadableStream<Uint8Array> {
  const { source, head, format } = log;
  let page = log.first;
  let started = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (started) {
        if (page.next === null || page.next >= head.seq) return controller.close();
        const reply = await readExport(source, page.next);
        if (!reply.ok) throw new AppError(reply.error.code, "The export was cut off.");
        page = reply.value;
      }
      const manifest = started
        ? []
        : [format.toManifestLine({ logId: logIdOf(page), base: GENESIS, head })];
      started = true;
      const events = page.items.filter((event) => event.seq <= head.seq);
      const lines = [...manifest, ...events.map((event) => format.toEventLine(event))];
      controller.enqueue(utf8(lines.map((line) => `${line}\n`).join("")));
    },
  });
}

const GENESIS: LogHead = { seq: 0, hash: "0".repeat(64) };

/** Each header names its log, and a thread has at least the event that created it. */
function logIdOf(page: Page<RawEvent>): string {
  const header: unknown = JSON.parse(page.items[0]?.header ?? "null");
  const logId = isJsonObject(header) ? header["logId"] : undefined;
  invariant(typeof logId === "string", "a stored header names its log");
  return logId;
}
