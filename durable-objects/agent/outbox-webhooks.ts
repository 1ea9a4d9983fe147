/**
 * The outbox consumer `webhooks`: what a tenant wants to be told of becomes a delivery, durable before the cursor moves.
 *
 * A body is a reference: what happened, where and when, and no content of the thread; who is told reads the rest with
 * credentials. Its id follows from the log, so that events that are told twice are one delivery.
 */
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { OutboxConsumer } from "#ports/event-log.ts";
import {
  WEBHOOK_TYPES,
  type Delivery,
  type WebhookStore,
  type WebhookType,
} from "#ports/webhook-store.ts";
import type { ThreadAddress } from "#shared/ids.ts";
import type { JsonObject } from "#shared/json.ts";

export function webhookConsumer(
  { tenant, agent, thread }: ThreadAddress,
  store: Pick<WebhookStore, "list" | "put">,
  waits: () => number,
): OutboxConsumer<ThreadEvents> {
  return {
    name: "webhooks",
    required: true,
    types: WEBHOOK_TYPES,
    async deliver(events) {
      const told = (await store.list(tenant)).filter(
        (webhook) =>
          webhook.disabledAt === null && (webhook.agent === null || webhook.agent === agent),
      );
      const deliveries = events.flatMap((event) => {
        const type = WEBHOOK_TYPES.find((known) => known === event.type);
        if (type === undefined) return [];
        return (
          told
            // What happened before somebody asked to be told is not told.
            .filter(({ types, createdAt }) => types.includes(type) && event.header.at >= createdAt)
            .map(({ id }) => toDelivery(event, { tenant, agent, thread, webhook: id, type }))
        );
      });
      if (deliveries.length === 0) return;
      // What is to be sent is remembered in the thread first: it comes back for deliveries that it may have put.
      const nextAt = waits();
      await store.put(deliveries.map((delivery) => ({ ...delivery, nextAt })));
    },
  };
}

function toDelivery(
  { header, payload }: ThreadEvent,
  {
    webhook,
    type,
    ...place
  }: ThreadAddress & { readonly webhook: string; readonly type: WebhookType },
): Delivery {
  const { logId: log, seq, at, run } = header;
  const message = `msg_${log}-${seq}`;
  const data = { ...place, run, seq, ...toData(type, header.id, payload) };
  return {
    tenant: place.tenant,
    webhook,
    message,
    log,
    seq,
    type,
    body: JSON.stringify({ type, timestamp: new Date(at).toISOString(), data }),
    state: "waiting",
    attempts: 0,
    nextAt: null,
    lastStatus: null,
    lastError: null,
    createdAt: at,
  };
}

/** Words of machines only. Null where it was erased before it was told. */
function toData(type: WebhookType, id: string, payload: ThreadEvent["payload"]): JsonObject {
  const read = (name: string): string | null => {
    const value =
      payload === null ? null : new Map<string, unknown>(Object.entries(payload)).get(name);
    return typeof value === "string" ? value : null;
  };
  switch (type) {
    case "run.completed":
      return { finish: read("finish") };
    case "run.failed":
      return { reason: read("reason") };
    case "approval.requested":
      return { approval: id, kind: read("kind"), tool: read("tool") };
    case "approval.decided":
      return { decision: read("decision") };
    case "run.cancelled":
    case "thread.halted":
    case "thread.resumed":
      return {};
  }
}
