/** What every operation of A2A stands on: whose call it is, what it may do, and the task that it names. */
import type { Principal, Scope } from "#auth/principal.ts";
import { hasScope, toCaller } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import type { Hasher } from "#ports/hasher.ts";
import type { RunIndex } from "#ports/run-index.ts";
import type { RunView, ThreadStub } from "#ports/thread-gateway.ts";
import { failure } from "#protocols/rest/errors.ts";
import type { EgressRules } from "#shared/egress-address.ts";
import type { AgentName } from "#shared/ids.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { a2aError, toA2aError, type A2aError } from "./errors.ts";
import { parseTaskId, type TaskPlace } from "./ids.ts";

export type Served<T> = Promise<Result<T, A2aError>>;

export interface A2aDeps {
  readonly threads: ThreadAccess;
  readonly limits: RateLimits;
  readonly hasher: Hasher;
  readonly runIndex: RunIndex;
  /** Where push notifications may go. */
  readonly egress: EgressRules;
}
export interface A2aCall {
  readonly deps: A2aDeps;
  readonly principal: Principal;
  readonly agent: AgentName;
  /** With what a blocking send is answered where the run says words alone. */
  readonly replies: "task" | "message";
  /** Of the request, for addresses in answers. */
  readonly origin: string;
}
interface Found {
  readonly place: TaskPlace;
  readonly stub: ThreadStub;
  readonly view: RunView;
}

export async function findTask(call: A2aCall, id: string, scope: Scope): Served<Found> {
  const allowed = requireScopes(call, [scope]);
  if (!allowed.ok) return allowed;
  const place = parseTaskId(call.agent, id);
  if (place === null) return err(a2aError("TASK_NOT_FOUND"));
  const stub = call.deps.threads.stub(toCaller(call.principal), place);
  const view = await stub.run(toCaller(call.principal), place.run);
  return view.ok ? ok({ place, stub, view: view.value }) : err(toA2aError(view.error));
}

export function requireScopes(
  { principal }: A2aCall,
  scopes: readonly Scope[],
): Result<null, A2aError> {
  const missing = scopes.find((scope) => !hasScope(principal, scope));
  if (missing === undefined) return ok(null);
  const message = `This needs the scope ${missing}.`;
  return err(toA2aError(failure("forbidden", message, { scope: missing })));
}

/** Of a file of the task's workspace. */
export function toFileUrl(origin: string, { agent, thread }: TaskPlace): (path: string) => string {
  const files = `${origin}/v1/agents/${agent}/threads/${thread}/files/`;
  return (path) => files + path.split("/").map(encodeURIComponent).join("/");
}
