/** Addresses that events come in by (P135). What they lead to acts for the tenant, so users are refused whatever their scopes. */
import { findAgent } from "#auth/known-agents.ts";
import type { Hook } from "#ports/hook-store.ts";
import type { Failure } from "#ports/thread-gateway.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { isUsableSecret, newSecret, type HookScheme } from "#shared/webhook-signatures.ts";
import { refuse, type RestContext, type RestDeps } from "./context.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import { addRoute, PROBLEM_RESPONSE, type Router } from "./route.ts";
import { NoParams, NoQuery } from "./wire.ts";
import {
  HookAnswerDoc,
  HookBody,
  HookListDoc,
  HookParams,
  HookRemovedDoc,
  HookSecretDoc,
  RotateBody,
} from "./wire-hooks.ts";

const MAX_HOOKS = 100;
const SECRET_BYTES = 32;
const shared = { tag: "hooks", scope: "operate", query: NoQuery } as const;

export function addHookRoutes(router: Router, deps: RestDeps): void {
  const { hooks, clock, ids } = deps;
  addRoute(router, {
    ...shared,
    method: "post",
    path: "/hooks",
    id: "createHook",
    summary: "Make an address for the events of a sender; its secret is shown this once",
    params: NoParams,
    body: { schema: HookBody },
    responses: json(201, HookSecretDoc),
    handle: async ({ c, principal, body }) => {
      if ((await findAgent(deps, { ...principal, agent: body.agent })) === null)
        return refuse(c, failure("agent_unknown"));
      const { tenant } = principal;
      if ((await hooks.list(tenant)).length >= MAX_HOOKS)
        return refuse(c, failure("conflict", `There are ${MAX_HOOKS} hooks; delete one first.`));
      const id = ids.next("hook");
      const secret = await sealSecret(deps, { id, scheme: body.scheme, given: body.secret });
      if (!secret.ok) return refuse(c, secret.error);
      const { app, agent, thread, scheme } = body;
      const hook: Hook = {
        id,
        tenant,
        app,
        agent,
        thread,
        scheme,
        secret: secret.value.sealed,
        previous: null,
        previousUntil: null,
        createdAt: clock.now(),
        createdBy: principal.id,
      };
      await hooks.add(hook);
      const doc = { ...encode(c, hook), secret: secret.value.plain };
      return Response.json(doc, { status: 201, headers: { location: doc.url } });
    },
  });
  addRoute(router, {
    ...shared,
    method: "get",
    path: "/hooks",
    id: "listHooks",
    summary: "List the addresses that events come in by, oldest first",
    params: NoParams,
    responses: json(200, HookListDoc),
    handle: async ({ c, principal }) => {
      const items = await hooks.list(principal.tenant);
      return Response.json({ items: items.map((hook) => encode(c, hook)) });
    },
  });
  addChanges(router, deps);
  describeDelivery(router);
}

/** Served in front of authentication (src/http/hooks.ts): the document says so, and the path's other methods know of it. */
function describeDelivery({ api, methods }: Router): void {
  methods.set("/hooks/:hook", (methods.get("/hooks/:hook") ?? new Set()).add("POST"));
  api.openAPIRegistry.registerPath({
    method: "post",
    path: "/hooks/{hook}",
    operationId: "receiveEvent",
    tags: [shared.tag],
    summary: "Deliver an event, signed as the hook's scheme says; no other credential is needed",
    security: [],
    request: {
      params: HookParams,
      body: { required: true, content: { "application/json": { schema: {} } } },
    },
    responses: {
      ...json(200, HookAnswerDoc, "Known already, or Slack's challenge as text."),
      ...json(202, HookAnswerDoc, "Accepted and durable."),
      default: PROBLEM_RESPONSE,
    },
  });
}

function addChanges(router: Router, deps: RestDeps): void {
  const { hooks, clock } = deps;
  addRoute(router, {
    ...shared,
    method: "post",
    path: "/hooks/{hook}/rotate",
    id: "rotateHook",
    summary: "Give a hook another secret; the one before holds a while longer",
    params: HookParams,
    body: { schema: RotateBody, optional: true },
    responses: json(200, HookSecretDoc),
    handle: async ({ c, principal, params, body }) => {
      const hook = await hooks.find(params.hook);
      if (hook === null || hook.tenant !== principal.tenant) return refuse(c, failure("not_found"));
      const { id, scheme } = hook;
      const secret = await sealSecret(deps, { id, scheme, given: body.secret });
      if (!secret.ok) return refuse(c, secret.error);
      const rotated: Hook = {
        ...hook,
        secret: secret.value.sealed,
        previous: hook.secret,
        previousUntil: clock.now() + body.keepSeconds * 1_000,
      };
      if (!(await hooks.rotate(rotated))) return refuse(c, failure("not_found"));
      return Response.json({ ...encode(c, rotated), secret: secret.value.plain });
    },
  });
  addRoute(router, {
    ...shared,
    method: "delete",
    path: "/hooks/{hook}",
    id: "deleteHook",
    summary: "Take events here no more; threads and runs stay",
    params: HookParams,
    responses: json(200, HookRemovedDoc),
    handle: async ({ c, principal, params }) => {
      const deleted = await hooks.remove(principal.tenant, params.hook);
      return deleted
        ? Response.json({ id: params.hook, deleted })
        : refuse(c, failure("not_found"));
    },
  });
}

interface AskedSecret {
  readonly id: string;
  readonly scheme: HookScheme;
  readonly given: string | undefined;
}

export async function sealSecret(
  { box, ids }: Pick<RestDeps, "box" | "ids">,
  { id, scheme, given }: AskedSecret,
): Promise<Result<{ readonly plain: string; readonly sealed: string }, Failure>> {
  if (box === null) return err(failure("config_invalid"));
  const plain = given ?? newSecret(ids.bytes(SECRET_BYTES));
  if (!isUsableSecret(scheme, plain))
    return err(
      failure(
        "invalid_request",
        "The secret must hold 16 bytes or more, of `standard` as base64.",
        {
          issues: [{ path: "/secret", message: "not a usable secret" }],
        },
      ),
    );
  return ok({ plain, sealed: await box.seal(plain, id) });
}

function encode(c: RestContext, { tenant: _t, secret: _s, previous: _p, ...hook }: Hook) {
  return { ...hook, url: new URL(`/v1/hooks/${hook.id}`, c.req.url).href };
}
