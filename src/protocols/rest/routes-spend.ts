/**
 * Spend over REST: sums by day, agent, thread, user, model, tool and kind, as JSON and as CSV (B30, B31); usage that a
 * provider tells late (B26); and the check of a thread's rollup against its log (B29).
 */
import { toCaller, type Principal } from "#auth/principal.ts";
import type { SpendDimension, SpendGroup, SpendQuery } from "#ports/spend.ts";
import type { Failure } from "#ports/thread-gateway.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { answer, refuse, type RestContext, type RestDeps } from "./context.ts";
import { toCsv } from "./csv.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import { NoParams, NoQuery, ReceiptDoc, ThreadParams } from "./wire.ts";
import {
  type Group,
  LateUsageBody,
  SpendCheckBody,
  SpendCheckDoc,
  SpendCsvParams,
  SpendDoc,
  SpendQueryParams,
} from "./wire-spend.ts";

const BASE = "/agents/{agent}/threads/{thread}";
const DIMENSIONS: { readonly [G in Group]: SpendDimension } = {
  day: "day",
  agent: "agent",
  thread: "thread",
  user: "owner",
  model: "route",
  tool: "tool",
  kind: "kind",
};
const SUMMARY = "Sum up what was spent, by any of day, agent, thread, user, model, tool and kind";

export function addSpendRoutes(router: Router, deps: RestDeps): void {
  addSumRoutes(router, deps);
  addRoute(router, {
    method: "post",
    path: `${BASE}/usage`,
    id: "correctUsage",
    tag: "spend",
    summary: "Replace an estimate by what the provider says late; the cost is corrected",
    scope: "operate",
    params: ThreadParams,
    query: NoQuery,
    body: { schema: LateUsageBody },
    responses: json(200, ReceiptDoc, "Recorded, or there already."),
    handle: async ({ c, principal, params, body }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.correctUsage(caller, body), (receipt) => receipt);
    },
  });
  addRoute(router, {
    method: "post",
    path: `${BASE}/spend/check`,
    id: "checkSpend",
    tag: "spend",
    summary: "Compute a thread's sums again from its log, compare, and replace them where asked",
    scope: "operate",
    params: ThreadParams,
    query: NoQuery,
    body: { schema: SpendCheckBody, optional: true },
    responses: json(200, SpendCheckDoc),
    handle: async ({ c, principal, params, body }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.checkSpend(caller, body.replace), (check) => check);
    },
  });
}

function addSumRoutes(router: Router, deps: RestDeps): void {
  const shared = { tag: "spend", scope: "threads:read", params: NoParams } as const;
  addRoute(router, {
    ...shared,
    method: "get",
    path: "/spend",
    id: "getSpend",
    summary: `${SUMMARY}; with Accept: text/csv as a table`,
    query: SpendQueryParams,
    responses: json(200, SpendDoc),
    handle: async ({ c, principal, query }) => {
      const page = await sumUp(deps, principal, query);
      if (!page.ok) return refuse(c, page.error);
      return acceptsCsv(c) ? csvOf(query.group_by, page.value) : Response.json(page.value);
    },
  });
  addRoute(router, {
    ...shared,
    method: "get",
    path: "/spend.csv",
    id: "getSpendCsv",
    summary: `${SUMMARY}, as a table`,
    query: SpendCsvParams,
    responses: {
      200: { description: "Success.", content: { "text/csv": { schema: { type: "string" } } } },
    },
    handle: async ({ c, principal, query }) => {
      const page = await sumUp(deps, principal, query);
      return page.ok ? csvOf(query.group_by, page.value) : refuse(c, page.error);
    },
  });
}

type Asked = ReturnType<typeof SpendQueryParams.parse>;
type Item = ReturnType<typeof encode>;
interface SpendPage {
  readonly items: readonly Item[];
  readonly next: string | null;
}

/** A user is shown what the user's own threads cost, whoever else's is asked for. */
async function sumUp(
  deps: RestDeps,
  principal: Principal,
  asked: Asked,
): Promise<Result<SpendPage, Failure>> {
  const { tenant, kind, id } = principal;
  const { group_by: groups, from = null, to = null, agent, thread, user, limit } = asked;
  const after = asked.after === undefined ? ok(null) : parsePosition(asked.after, groups.length);
  if (!after.ok) return after;
  const where = {
    ...(agent === undefined ? {} : { agent }),
    ...(thread === undefined ? {} : { thread }),
    ...(user === undefined ? {} : { owner: user }),
  };
  const query: SpendQuery = {
    tenant,
    visible: kind === "user" ? { to: "owner", owner: id } : { to: "tenant" },
    from,
    to,
    where,
    groupBy: groups.map((group) => DIMENSIONS[group]),
    after: after.value,
    limit,
  };
  const found = await deps.spend.sum(query);
  const last = found.length === limit ? found.at(-1) : undefined;
  return ok({
    items: found.map((group) => encode(group, groups)),
    next: last === undefined ? null : toPosition(last.values),
  });
}

/** What nobody knows is null, never 0: it would read as free (B23). */
function encode(group: SpendGroup, groups: readonly Group[]) {
  const { micros, unpriced, calls, recoveryMicros, estimatedMicros } = group;
  const named: { readonly [G in Group]?: string } = Object.fromEntries(
    groups.map((name, at) => [name, group.values[at] ?? ""]),
  );
  return {
    ...named,
    costMicros: unpriced > 0 && micros === 0 ? null : micros,
    recoveryMicros,
    estimatedMicros,
    calls,
    unpriced,
    inputTokens: group.input,
    cachedInputTokens: group.cachedInput,
    cacheWriteTokens: group.cacheWrite,
    audioInputTokens: group.audioInput,
    outputTokens: group.output,
    reasoningTokens: group.reasoning,
    audioOutputTokens: group.audioOutput,
  };
}

const COLUMNS = [
  "costMicros",
  "recoveryMicros",
  "estimatedMicros",
  "calls",
  "unpriced",
  "inputTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "audioInputTokens",
  "outputTokens",
  "reasoningTokens",
  "audioOutputTokens",
] as const satisfies readonly (keyof Item)[];

function csvOf(groups: readonly Group[], { items, next }: SpendPage): Response {
  const columns = [...groups, ...COLUMNS];
  const text = toCsv(
    columns,
    items.map((item) => columns.map((column) => item[column] ?? null)),
  );
  return new Response(text, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="spend.csv"',
      ...(next === null ? {} : { "x-next": next }),
    },
  });
}

function acceptsCsv(c: RestContext): boolean {
  const types = (c.req.header("accept") ?? "").split(",").map((entry) => entry.split(";")[0]);
  return types.some((type) => type?.trim().toLowerCase() === "text/csv");
}

/** The page token: the values of the last group, which are ids and routes. */
function toPosition(values: readonly string[]): string {
  return values.map((value) => encodeURIComponent(value)).join(",");
}

function parsePosition(text: string, parts: number): Result<readonly string[], Failure> {
  try {
    const values = text.split(",").map((value) => decodeURIComponent(value));
    if (values.length === parts) return ok(values);
  } catch {
    // Not percent-encoded: no token of ours.
  }
  return err(failure("invalid_request", "`after` must be the `next` of an earlier page."));
}
