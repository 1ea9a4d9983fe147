/** Where a tenant wants to be told of what happens (P137 to P139). It hears of everybody's threads, so users are refused. */
import { toCaller } from "#auth/principal.ts";
import type { Delivery, Webhook } from "#ports/webhook-store.ts";
import { checkEgressUrl } from "#shared/egress-address.ts";
import { isAgentName, isThreadId } from "#shared/ids.ts";
import { isJsonObject, type Json } from "#shared/json.ts";
import { refuse, type RestDeps } from "./context.ts";
import { failure } from "./errors.ts";
import { json } from "./responses.ts";
import { addRoute, type Router } from "./route.ts";
import { sealSecret } from "./routes-hooks.ts";
import { NoParams, NoQuery } from "./wire.ts";
import {
  DeliveriesQuery,
  DeliveryListDoc,
  DeliveryParams,
  RedeliveredDoc,
  RotateWebhookBody,
  WebhookBody,
  WebhookDoc,
  WebhookListDoc,
  WebhookParams,
  WebhookRemovedDoc,
  WebhookSecretDoc,
} from "./wire-webhooks.ts";

const MAX_WEBHOOKS = 50;
const shared = { tag: "webhooks", scope: "operate" } as const;
const ONE = "/webhooks/{webhook}";

export function addWebhookRoutes(router: Router, deps: RestDeps): void {
  const { webhooks, clock, ids, egress } = deps;
  addRoute(router, {
    ...shared,
    method: "post",
    path: "/webhooks",
    id: "createWebhook",
    summary: "Be told of what happens; the secret is shown this once",
    params: NoParams,
    query: NoQuery,
    body: { schema: WebhookBody },
    responses: json(201, WebhookSecretDoc),
    handle: async ({ c, principal, body }) => {
      const url = checkEgressUrl(body.url, egress);
      if (!url.ok)
        return refuse(
          c,
          failure("invalid_request", "The url must be https and name a public host."),
        );
      const { tenant } = principal;
      if ((await webhooks.list(tenant)).length >= MAX_WEBHOOKS)
        return refuse(
          c,
          failure("conflict", `There are ${MAX_WEBHOOKS} webhooks; delete one first.`),
        );
      const id = ids.next("whk");
      const secret = await sealSecret(deps, { id, scheme: "standard", given: body.secret });
      if (!secret.ok) return refuse(c, secret.error);
      const webhook: Webhook = {
        tenant,
        id,
        url: url.value.href,
        agent: body.agent ?? null,
        types: [...new Set(body.types)],
        secret: secret.value.sealed,
        previous: null,
        previousUntil: null,
        disabledAt: null,
        disabledReason: null,
        failingSince: null,
        createdAt: clock.now(),
        createdBy: principal.id,
      };
      await webhooks.add(webhook);
      return Response.json({ ...encode(webhook), secret: secret.value.plain }, { status: 201 });
    },
  });
  addChanges(router, deps);
  addDeliveries(router, deps);
}

function addChanges(router: Router, deps: RestDeps): void {
  const { webhooks } = deps;
  addRoute(router, {
    ...shared,
    method: "get",
    path: "/webhooks",
    id: "listWebhooks",
    summary: "List where you are told, oldest first",
    params: NoParams,
    query: NoQuery,
    responses: json(200, WebhookListDoc),
    handle: async ({ principal }) =>
      Response.json({ items: (await webhooks.list(principal.tenant)).map(encode) }),
  });
  addRoute(router, {
    ...shared,
    method: "delete",
    path: ONE,
    id: "deleteWebhook",
    summary: "Be told no more; what waits is dropped",
    params: WebhookParams,
    query: NoQuery,
    responses: json(200, WebhookRemovedDoc),
    handle: async ({ c, principal, params: { webhook: id } }) =>
      (await webhooks.remove(principal.tenant, id))
        ? Response.json({ id, deleted: true })
        : refuse(c, failure("not_found")),
  });
  addRoute(router, {
    ...shared,
    method: "post",
    path: `${ONE}/enable`,
    id: "enableWebhook",
    summary: "Be told again; what happened meanwhile is not told",
    params: WebhookParams,
    query: NoQuery,
    responses: json(200, WebhookDoc),
    handle: async ({ c, principal: { tenant }, params: { webhook: id } }) => {
      const enabled = { disabledAt: null, disabledReason: null, failingSince: null };
      await webhooks.change(tenant, id, enabled);
      const webhook = await webhooks.find(tenant, id);
      return webhook === null ? refuse(c, failure("not_found")) : Response.json(encode(webhook));
    },
  });
  addRotation(router, deps);
}

function addRotation(router: Router, deps: RestDeps): void {
  const { webhooks, clock } = deps;
  addRoute(router, {
    ...shared,
    method: "post",
    path: `${ONE}/rotate`,
    id: "rotateWebhook",
    summary: "Sign with another secret; the one before signs beside it for a while",
    params: WebhookParams,
    query: NoQuery,
    body: { schema: RotateWebhookBody, optional: true },
    responses: json(200, WebhookSecretDoc),
    handle: async ({ c, principal: { tenant }, params: { webhook: id }, body }) => {
      const webhook = await webhooks.find(tenant, id);
      if (webhook === null) return refuse(c, failure("not_found"));
      const secret = await sealSecret(deps, { id, scheme: "standard", given: body.secret });
      if (!secret.ok) return refuse(c, secret.error);
      const change = {
        secret: secret.value.sealed,
        previous: webhook.secret,
        previousUntil: clock.now() + body.keepSeconds * 1_000,
      };
      await webhooks.change(tenant, id, change);
      return Response.json({ ...encode({ ...webhook, ...change }), secret: secret.value.plain });
    },
  });
}

function addDeliveries(router: Router, deps: RestDeps): void {
  const { webhooks } = deps;
  addRoute(router, {
    ...shared,
    method: "get",
    path: `${ONE}/deliveries`,
    id: "listDeliveries",
    summary: "List what was told, newest first; `state=dead` for what was given up",
    params: WebhookParams,
    query: DeliveriesQuery,
    responses: json(200, DeliveryListDoc),
    handle: async ({ c, principal: { tenant }, params: { webhook }, query: { state = null } }) => {
      if ((await webhooks.find(tenant, webhook)) === null) return refuse(c, failure("not_found"));
      const items = await webhooks.deliveries({ tenant, webhook }, state);
      return Response.json({ items: items.map(encodeDelivery) });
    },
  });
  addRoute(router, {
    ...shared,
    method: "post",
    path: `${ONE}/deliveries/{message}/redeliver`,
    id: "redeliver",
    summary: "Send it again, whatever became of it, under the same id",
    params: DeliveryParams,
    query: NoQuery,
    responses: json(202, RedeliveredDoc),
    handle: async ({ c, principal, params: { webhook, message } }) => {
      const { tenant } = principal;
      const delivery = await webhooks.delivery({ tenant, webhook, message });
      const place = delivery === null ? null : toPlace(delivery);
      if (place === null) return refuse(c, failure("not_found"));
      const caller = toCaller(principal);
      const sent = await deps.threads.stub(caller, place).redeliver(caller, webhook, message);
      return sent.ok
        ? Response.json({ message, state: "waiting" }, { status: 202 })
        : refuse(c, sent.error);
    },
  });
}

/** The thread that sends it, as its body names it. */
function toPlace({ body }: Delivery) {
  const parsed = JSON.parse(body) as Json;
  const data = isJsonObject(parsed) ? parsed["data"] : null;
  if (data === undefined || !isJsonObject(data)) return null;
  const { agent, thread } = data;
  if (typeof agent !== "string" || typeof thread !== "string") return null;
  return isAgentName(agent) && isThreadId(thread) ? { agent, thread } : null;
}

function encode({ tenant: _t, secret: _s, previous: _p, ...webhook }: Webhook) {
  return webhook;
}

function encodeDelivery({ tenant: _t, webhook: _w, log: _l, seq: _s, ...delivery }: Delivery) {
  return delivery;
}
