/**
 * Prices over REST: a tenant's own, which go before the deployment's table (B24).
 *
 * A version is the hash of its rates, so setting the same price again is the same version and no key is needed. What a
 * call costs decides whether it may run, so users are refused whatever their scopes.
 */
import type { Principal } from "#auth/principal.ts";
import type { Price } from "#kernel/reservation.ts";
import type { PriceOverride } from "#ports/price-overrides.ts";
import type { Failure } from "#ports/thread-gateway.ts";
import { canonicalJson, utf8 } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { refuse, type RestDeps } from "./context.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import { NoParams, NoQuery } from "./wire.ts";
import {
  PriceDoc,
  PriceListDoc,
  PriceQuery,
  PriceRemovedDoc,
  PricesQuery,
  SetPriceBody,
} from "./wire-prices.ts";

const VERSION_CHARS = 16;
const shared = { path: "/prices", tag: "prices", scope: "operate", params: NoParams } as const;

export function addPriceRoutes(router: Router, deps: RestDeps): void {
  const { prices, clock } = deps;
  addRoute(router, {
    ...shared,
    method: "get",
    id: "listPrices",
    summary: "List your own prices, or the price of one route with what it was before",
    query: PricesQuery,
    responses: json(200, PriceListDoc),
    handle: async ({ c, principal, query: { route } }) => {
      const allowed = checkKind(principal);
      if (!allowed.ok) return refuse(c, allowed.error);
      const { tenant } = principal;
      const { version: table } = prices.table;
      if (route === undefined) {
        const own = await prices.overrides.current(tenant);
        return Response.json({ table, items: own.map(encode) });
      }
      const own = (await prices.overrides.history({ tenant, route })).map(encode);
      return Response.json({ table, items: [...own, ...encodeTable(deps, route)] });
    },
  });
  addRoute(router, {
    ...shared,
    method: "put",
    id: "setPrice",
    summary: "Set your own price of a route; it holds within a minute",
    query: NoQuery,
    body: { schema: SetPriceBody },
    responses: json(200, PriceDoc),
    handle: async ({ c, principal, body: { route, rates } }) => {
      const allowed = checkKind(principal);
      if (!allowed.ok) return refuse(c, allowed.error);
      const { tenant, id: createdBy } = principal;
      const version = toVersion(deps, rates);
      const set = { tenant, route, version, rates, createdAt: clock.now(), createdBy };
      await prices.overrides.set(set);
      return Response.json(encode({ ...set, retiredAt: null }));
    },
  });
  addRoute(router, {
    ...shared,
    method: "delete",
    id: "removePrice",
    summary: "Remove your own price of a route; the table's holds again within a minute",
    query: PriceQuery,
    responses: json(200, PriceRemovedDoc),
    handle: async ({ c, principal, query: { route } }) => {
      const allowed = checkKind(principal);
      if (!allowed.ok) return refuse(c, allowed.error);
      const removed = await prices.overrides.retire(
        { tenant: principal.tenant, route },
        clock.now(),
      );
      return Response.json({ removed });
    },
  });
}

function checkKind({ kind }: Principal): Result<null, Failure> {
  return kind === "user"
    ? err(failure("forbidden", "Prices are not a user's to see or set."))
    : ok(null);
}

/** A label of event headers; never one of the table's, which are days. */
function toVersion({ hasher }: RestDeps, rates: Price): string {
  return `own-${hasher.sha256(utf8(canonicalJson({ ...rates }))).slice(0, VERSION_CHARS)}`;
}

function encode({ tenant: _tenant, ...price }: PriceOverride) {
  return { ...price, source: "own" as const };
}

function encodeTable({ prices: { table } }: RestDeps, route: string) {
  const price = table.price(route);
  if (price === null) return [];
  const { version, ...rates } = price;
  const unset = { createdAt: null, createdBy: null, retiredAt: null };
  return [{ route, source: "table" as const, version, rates, ...unset }];
}
