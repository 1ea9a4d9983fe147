/**
 * Access: who may reach a thread, decided inside its object, below every route (Z4).
 *
 * A missing thread, a foreign tenant and a foreign owner are one and the same `not_found` (Z5). A null owner matches
 * nobody, not even another null.
 */
import type { Caller, Failure, Reply } from "#ports/thread-gateway.ts";
import { err, ok } from "#shared/result.ts";
import type { ThreadAddress } from "#shared/ids.ts";

export const NOT_FOUND: Failure = {
  code: "not_found",
  message: "no such thread",
  detail: {},
  retryable: false,
};

export function checkAccess(
  caller: Caller,
  address: ThreadAddress,
  owner: string | null,
): Reply<null> {
  if (owner === null || caller.tenant !== address.tenant) return err(NOT_FOUND);
  const mayAct = caller.kind === "user" ? caller.id === owner : true;
  return mayAct ? ok(null) : err(NOT_FOUND);
}

export function checkScope(caller: Caller, scope: string): Reply<null> {
  if (caller.scopes.includes(scope) || caller.scopes.includes("admin")) return ok(null);
  return err({
    code: "forbidden",
    message: `this needs the scope ${scope}`,
    detail: { scope },
    retryable: false,
  });
}
