/** Budgets of the tenant, what is spent and leased of them, and by whom (B40). */
import { findAgent } from "#auth/known-agents.ts";
import { toCaller } from "#auth/principal.ts";
import type { BudgetSpec, LedgerGateway } from "#ports/budget-ledger.ts";
import { answer, refuse, type RestDeps } from "./context.ts";
import { isAgentName, type TenantId } from "#shared/ids.ts";
import { json } from "./responses.ts";
import { failure } from "./errors.ts";
import { addRoute, type Router } from "./route.ts";
import { NoParams, NoQuery, pageOf, EventDoc, PageQuery } from "./wire.ts";
import {
  BudgetBody,
  BudgetDoc,
  BudgetListDoc,
  BudgetParams,
  LeaseListDoc,
  LeaseParams,
  WriteOffBody,
  WriteOffDoc,
} from "./wire-budgets.ts";

export function addBudgetRoutes(router: Router, deps: RestDeps): void {
  const { ledgers } = deps;
  addRoute(router, {
    method: "get",
    path: "/budgets",
    id: "listBudgets",
    tag: "budgets",
    summary: "List budgets with what is spent, leased and left of each in its present window",
    scope: "operate",
    params: NoParams,
    query: NoQuery,
    responses: json(200, BudgetListDoc),
    handle: async ({ principal }) =>
      Response.json({ items: await ledgers.ledger(principal.tenant).budgets() }),
  });
  addRoute(router, {
    method: "put",
    path: "/budgets/{budget}",
    id: "putBudget",
    tag: "budgets",
    summary:
      "Set or replace a budget. What was spent in its window before counts; a stop is lifted",
    scope: "operate",
    params: BudgetParams,
    query: NoQuery,
    body: { schema: BudgetBody },
    responses: json(200, BudgetDoc),
    handle: async ({ c, principal, params, body }) => {
      const { warnAtPercent, ...rest } = body;
      const ascending = [...new Set(warnAtPercent)].toSorted((a, b) => a - b);
      const spec = { ...rest, budgetId: params.budget, warnAtPercent: ascending };
      const { id, tenant } = toCaller(principal);
      if (!(await hasCheaper(deps, tenant, spec))) return refuse(c, NO_CHEAPER);
      return answer(c, await ledgers.ledger(tenant).putBudget(spec, id), (budget) => budget);
    },
  });
  addRoute(router, {
    method: "delete",
    path: "/budgets/{budget}",
    id: "deleteBudget",
    tag: "budgets",
    summary: "Delete a budget",
    scope: "operate",
    params: BudgetParams,
    query: NoQuery,
    responses: { 204: { description: "Deleted." } },
    handle: async ({ c, principal, params }) => {
      const deleted = await ledgers
        .ledger(principal.tenant)
        .deleteBudget(params.budget, principal.id);
      return deleted.ok ? new Response(null, { status: 204 }) : answer(c, deleted, () => null);
    },
  });
  addLedgerRoutes(router, ledgers);
}

const NO_CHEAPER = failure("invalid_request", "`cheaper` needs an agent with fallbacks.", {
  issues: [
    {
      path: "/atLimit",
      message: "the agent names no fallbacks to go on with; name some, or choose `stop` or `ask`",
    },
  ],
});

/** Of a budget over many agents nobody knows: there a run without fallbacks ends at the limit. */
async function hasCheaper(
  deps: RestDeps,
  tenant: TenantId,
  { atLimit, scope }: Pick<BudgetSpec, "atLimit" | "scope">,
): Promise<boolean> {
  if (atLimit !== "cheaper" || (scope.kind !== "agent" && scope.kind !== "thread")) return true;
  const agent = isAgentName(scope.agent) ? scope.agent : null;
  const manifest = agent === null ? null : await findAgent(deps, { tenant, agent });
  return (manifest?.fallbacks ?? []).length > 0;
}

function addLedgerRoutes(router: Router, ledgers: LedgerGateway): void {
  addRoute(router, {
    method: "get",
    path: "/ledger/leases",
    id: "listLeases",
    tag: "budgets",
    summary:
      "List open leases: which run holds how much, since when, and when it was last heard of",
    scope: "operate",
    params: NoParams,
    query: NoQuery,
    responses: json(200, LeaseListDoc),
    handle: async ({ principal }) =>
      Response.json({ items: await ledgers.ledger(principal.tenant).leases() }),
  });
  addRoute(router, {
    method: "post",
    path: "/ledger/leases/{lease}/write-off",
    id: "writeOffLease",
    tag: "budgets",
    summary:
      "End a lease whose thread does not answer. It is asked once more first; what it says later corrects the amount",
    scope: "operate",
    params: LeaseParams,
    query: NoQuery,
    body: { schema: WriteOffBody },
    responses: json(200, WriteOffDoc),
    handle: async ({ c, principal, params, body }) => {
      const { id, tenant } = toCaller(principal);
      const request = { ...body, leaseId: params.lease };
      return answer(c, await ledgers.ledger(tenant).writeOff(request, id), (view) => view);
    },
  });
  addRoute(router, {
    method: "get",
    path: "/ledger/events",
    id: "listLedgerEvents",
    tag: "budgets",
    summary: "Read the ledger's log: budgets set, leases, warnings, refusals and stops",
    scope: "operate",
    params: NoParams,
    query: PageQuery,
    responses: json(200, pageOf(EventDoc, "LedgerEventPage")),
    handle: async ({ principal, query }) =>
      Response.json(await ledgers.ledger(principal.tenant).events(query)),
  });
}
