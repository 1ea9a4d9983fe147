/** An operator's stop of one thread, and its end (B10). */
import { z } from "@hono/zod-openapi";
import { toCaller } from "#auth/principal.ts";
import { answer, type RestDeps } from "./context.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import { NoQuery, ReceiptDoc, ThreadParams } from "./wire.ts";

const BASE = "/agents/{agent}/threads/{thread}";
const Reason = z.string().min(1).max(500);
const HaltBody = z
  .strictObject({ reason: Reason.default("halted by an operator") })
  .openapi("HaltThread");
const ResumeBody = z
  .strictObject({ reason: Reason.nullable().default(null) })
  .openapi("ResumeThread");

export function addHaltRoutes(router: Router, deps: RestDeps): void {
  const shared = {
    method: "post",
    tag: "operation",
    scope: "operate",
    params: ThreadParams,
    query: NoQuery,
    idempotent: true,
    responses: json(200, ReceiptDoc),
  } as const;
  addRoute(router, {
    ...shared,
    path: `${BASE}/halt`,
    id: "haltThread",
    summary:
      "Halt a thread: no model call and no tool starts until it is resumed, whatever wakes it, and messages are refused " +
      "as thread_halted. A model call is cut off; tools that run settle and are recorded",
    body: { schema: HaltBody, optional: true },
    handle: async ({ c, principal, params, body, idempotencyKey }) => {
      const caller = toCaller(principal);
      const stub = deps.threads.stub(caller, params);
      return answer(c, await stub.halt(caller, body.reason, idempotencyKey), (receipt) => receipt);
    },
  });
  addRoute(router, {
    ...shared,
    path: `${BASE}/resume`,
    id: "resumeThread",
    summary: "Let a halted thread go on where it was",
    body: { schema: ResumeBody, optional: true },
    handle: async ({ c, principal, params, body, idempotencyKey }) => {
      const caller = toCaller(principal);
      const resumed = await deps.threads
        .stub(caller, params)
        .resume(caller, body.reason, idempotencyKey);
      return answer(c, resumed, (receipt) => receipt);
    },
  });
}
