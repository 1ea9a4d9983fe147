/**
 * Retention over REST: how much history a tenant's threads keep, before what their agents say (H44).
 *
 * A policy is put whole, so the same request again is the same policy and no key is needed. What is pruned is gone, so users
 * are refused whatever their scopes.
 */
import type { Principal } from "#auth/principal.ts";
import type { RetentionPolicy } from "#ports/retention-policies.ts";
import type { Failure } from "#ports/thread-gateway.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { refuse, type RestDeps } from "./context.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import { NoParams, NoQuery } from "./wire.ts";
import {
  RetentionDoc,
  RetentionListDoc,
  RetentionQuery,
  RetentionRemovedDoc,
  SetRetentionBody,
} from "./wire-retention.ts";

const shared = {
  path: "/retention",
  tag: "retention",
  scope: "operate",
  params: NoParams,
} as const;

export function addRetentionRoutes(router: Router, { retention, clock }: RestDeps): void {
  addRoute(router, {
    ...shared,
    method: "get",
    id: "listRetention",
    summary: "List your policies of retention",
    query: NoQuery,
    responses: json(200, RetentionListDoc),
    handle: async ({ c, principal }) => {
      const allowed = checkKind(principal);
      if (!allowed.ok) return refuse(c, allowed.error);
      const policies = await retention.list(principal.tenant);
      return Response.json({ items: policies.map(encode) });
    },
  });
  addRoute(router, {
    ...shared,
    method: "put",
    id: "setRetention",
    summary: "Set how much history your threads keep; it goes before what their agents say",
    query: RetentionQuery,
    body: { schema: SetRetentionBody },
    responses: json(200, RetentionDoc),
    handle: async ({ c, principal, query: { agent = null }, body }) => {
      const allowed = checkKind(principal);
      if (!allowed.ok) return refuse(c, allowed.error);
      const { tenant, id: updatedBy } = principal;
      const policy = { tenant, agent, ...body, updatedAt: clock.now(), updatedBy };
      await retention.set(policy);
      return Response.json(encode(policy));
    },
  });
  addRoute(router, {
    ...shared,
    method: "delete",
    id: "removeRetention",
    summary: "Remove a policy of retention; what is less special holds again",
    query: RetentionQuery,
    responses: json(200, RetentionRemovedDoc),
    handle: async ({ c, principal, query: { agent = null } }) => {
      const allowed = checkKind(principal);
      if (!allowed.ok) return refuse(c, allowed.error);
      const removed = await retention.remove({ tenant: principal.tenant, agent });
      return Response.json({ removed });
    },
  });
}

function checkKind({ kind }: Principal): Result<null, Failure> {
  return kind === "user"
    ? err(failure("forbidden", "Retention is not a user's to see or set."))
    : ok(null);
}

function encode({ tenant: _tenant, ...policy }: RetentionPolicy) {
  return policy;
}
