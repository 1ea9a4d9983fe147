/** The audit over REST: exports of a thread and of a tenant, verification of a live log, and the explanation of a run. */
import type { ExportedLog, ExportScope } from "#ports/audit-export.ts";
import type { VerificationView } from "#ports/audit-views.ts";
import type { ThreadPosition } from "#ports/directory.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import type { ThreadPlace } from "#auth/thread-access.ts";
import type { RestDeps } from "./context.ts";
import type { Router } from "./route.ts";
import { toCaller } from "#auth/principal.ts";
import { AppError } from "#shared/errors.ts";
import { utf8 } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import { answer, refuse } from "./context.ts";
import { failure } from "./errors.ts";
import { binary, json } from "./responses.ts";
import { addRoute } from "./route.ts";
import { NoParams, NoQuery, RunParams, ThreadParams } from "./wire.ts";
import { ExplainQuery, ExplanationDoc, VerificationDoc, VerifyQuery } from "./wire-audit.ts";

const BASE = "/agents/{agent}/threads/{thread}";
const EXPORT_PAGE = 100;
const THREAD_PAGE = 100;
/** Lines are gathered to this many characters before they are sent. */
const CHUNK = 65_536;
/** Parts of one answer: a longer log is gone on with by `next`. */
const MAX_PARTS = 20;

export function addAuditRoutes(router: Router, deps: RestDeps): void {
  addExportRoutes(router, deps);
  addRoute(router, {
    method: "get",
    path: `${BASE}/verify`,
    id: "verifyThread",
    tag: "audit",
    summary:
      "Verify the log: its chain, its payloads, and the signed heads outside its object. " +
      "For the thread's owner, and others with the scope audit",
    scope: "threads:read",
    params: ThreadParams,
    query: VerifyQuery,
    responses: json(200, VerificationDoc),
    handle: async ({ c, principal, params, query }) =>
      answer(
        c,
        await verifyParts(deps, toCaller(principal), { ...params, ...query }),
        (view) => view,
      ),
  });
  addRoute(router, {
    method: "get",
    path: `${BASE}/runs/{run}/explain`,
    id: "explainRun",
    tag: "audit",
    summary:
      "Explain a run step by step: the exact prompt, what was chosen, called and approved, what it cost, with the events " +
      "that say so. For the thread's owner, and others with the scope audit",
    scope: "threads:read",
    params: RunParams,
    query: ExplainQuery,
    responses: json(200, ExplanationDoc),
    handle: async ({ c, principal, params, query }) => {
      const caller = toCaller(principal);
      const request = { ...query, runId: params.run };
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.explainRun(caller, request), (view) => view);
    },
  });
}

function addExportRoutes(router: Router, deps: RestDeps): void {
  const responses = binary("application/jsonl", "Format holdfast-export/1, one record a line.");
  addRoute(router, {
    method: "get",
    path: `${BASE}/export`,
    id: "exportThread",
    tag: "audit",
    summary: "Export the stored log as JSON Lines, to be verified without this service",
    scope: "audit",
    params: ThreadParams,
    query: NoQuery,
    responses,
    handle: async ({ c, principal, params }) => {
      const caller = toCaller(principal);
      const first = await deps.threads.stub(caller, params).auditBounds(caller);
      if (!first.ok) return refuse(c, first.error);
      const { agent, thread } = params;
      const scope = { tenant: principal.tenant, agent, thread };
      const only = async function* (): AsyncGenerator<ExportedLog> {
        yield toLog(deps, caller, params);
      };
      return download(deps, { scope, logs: only(), name: thread });
    },
  });
  addRoute(router, {
    method: "get",
    path: "/audit/export",
    id: "exportTenant",
    tag: "audit",
    summary:
      "Export the logs of all threads and of the ledger of the tenant as one file. Takes as long as it takes",
    scope: "audit",
    params: NoParams,
    query: NoQuery,
    responses,
    handle: ({ c, principal }) => {
      // Whose logs a tenant has is nothing that one of its users may learn.
      if (principal.kind === "user")
        return refuse(c, failure("forbidden", "Users export their own threads, one by one."));
      const { tenant } = principal;
      const logs = tenantLogs(deps, toCaller(principal));
      return download(deps, { scope: { tenant, agent: null, thread: null }, logs, name: tenant });
    },
  });
}

/** A thread that was registered and never created has no log. */
async function* tenantLogs(deps: RestDeps, caller: Caller): AsyncGenerator<ExportedLog> {
  let after: ThreadPosition | null = null;
  for (;;) {
    const page: Awaited<ReturnType<RestDeps["directory"]["list"]>> = await deps.directory.list({
      tenant: caller.tenant,
      visible: { to: "tenant" },
      agent: null,
      after,
      limit: THREAD_PAGE,
    });
    for (const place of page) {
      const first = await deps.threads.stub(caller, place).auditBounds(caller);
      if (first.ok) yield toLog(deps, caller, place);
      else if (first.error.code !== "not_found") throw cutOff(first.error.code);
    }
    after = page.at(-1) ?? null;
    if (page.length < THREAD_PAGE || after === null) break;
  }
  yield* ledgerLog(deps, caller.tenant);
}

/** What was leased, settled, granted and written off; none where nothing ever was. */
async function* ledgerLog(
  { ledgers }: RestDeps,
  tenant: Caller["tenant"],
): AsyncGenerator<ExportedLog> {
  const { head } = await ledgers.ledger(tenant).auditBounds();
  if (head.seq === 0) return;
  yield {
    agent: null,
    thread: null,
    bounds: () => ledgers.ledger(tenant).auditBounds(),
    page: (after) => ledgers.ledger(tenant).export({ after, limit: EXPORT_PAGE }),
  };
}

/** What fails on the way breaks the connection off: a file that lacks something must not look whole. */
function toLog(deps: RestDeps, caller: Caller, place: ThreadPlace): ExportedLog {
  const stub = deps.threads.stub(caller, place);
  return {
    agent: place.agent,
    thread: place.thread,
    bounds: async () => demand(await stub.auditBounds(caller)),
    page: async (after) => demand(await stub.export(caller, { after, limit: EXPORT_PAGE })),
  };
}

function demand<T>(reply: Reply<T>): T {
  if (!reply.ok) throw cutOff(reply.error.code);
  return reply.value;
}

function cutOff(code: AppError["code"]): AppError {
  return new AppError(code, "The export was cut off.");
}

function download(
  { auditExport }: RestDeps,
  file: {
    readonly scope: ExportScope;
    readonly logs: AsyncIterable<ExportedLog>;
    readonly name: string;
  },
): Response {
  const lines = auditExport.lines(file.scope, file.logs)[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      let text = "";
      while (text.length < CHUNK) {
        const line = await lines.next();
        if (line.done === true) {
          if (text !== "") controller.enqueue(utf8(text));
          return controller.close();
        }
        text += line.value;
      }
      controller.enqueue(utf8(text));
    },
    async cancel() {
      await lines.return?.();
    },
  });
  return new Response(body, {
    headers: {
      "content-type": "application/jsonl",
      "content-disposition": `attachment; filename="${file.name}.jsonl"`,
    },
  });
}

/** Part by part, so that no object works long without a pause; what the parts say adds up. */
async function verifyParts(
  deps: RestDeps,
  caller: Caller,
  { after, ...place }: ThreadPlace & { readonly after: number },
): Promise<Reply<VerificationView>> {
  const stub = deps.threads.stub(caller, place);
  const first = await stub.verifyLog(caller, after);
  if (!first.ok) return first;
  let whole = first.value;
  for (let parts = 1; whole.next !== null && parts < MAX_PARTS; parts += 1) {
    const reply = await stub.verifyLog(caller, whole.next);
    if (!reply.ok) return reply;
    whole = join(whole, reply.value);
  }
  return ok(whole);
}

function join(before: VerificationView, part: VerificationView): VerificationView {
  return {
    ...part,
    from: before.from,
    events: before.events + part.events,
    erased: before.erased + part.erased,
    anchors: {
      ...part.anchors,
      verified: before.anchors.verified + part.anchors.verified,
      inOneStore: before.anchors.inOneStore + part.anchors.inOneStore,
      newest: part.anchors.newest ?? before.anchors.newest,
    },
  };
}
