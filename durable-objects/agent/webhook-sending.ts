/**
 * Sends what is due of one thread to where its tenant wants to be told (P137, P138).
 *
 * At least once, under one id: a process that dies behind a request sends it again. Of one webhook one at a time, in the
 * order of the log; what failed waits and does not hold up what comes behind it.
 */
import type { Clock } from "#ports/clock.ts";
import type { SecretBox } from "#ports/secret-box.ts";
import { isDelivered, type PostOutcome, type WebhookSender } from "#ports/webhook-sender.ts";
import type { Delivery, DeliveryProgress, Webhook, WebhookStore } from "#ports/webhook-store.ts";
import type { TenantId } from "#shared/ids.ts";
import { signStandard } from "#shared/webhook-signatures.ts";

export interface WebhookParts {
  readonly store: WebhookStore;
  readonly sender: WebhookSender;
  /** Null: this deployment keeps no secrets of others, and tells nobody. */
  readonly box: SecretBox | null;
}
interface SendingDeps extends WebhookParts {
  readonly clock: Clock;
}
type Log = Pick<Delivery, "tenant" | "log">;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Waits behind the first failure, the second, and so on: over a day in all. */
const WAITS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
/** One that took nothing for so long is told no more. */
const DISABLE_AFTER_MS = 24 * HOUR;
const GONE = 410;

/** Answers when the next of this log is due; null when none waits. */
export async function sendDue(deps: SendingDeps, log: Log): Promise<number | null> {
  const due = await deps.store.due(log, deps.clock.now());
  const webhooks = new Map((await deps.store.list(log.tenant)).map((each) => [each.id, each]));
  const byWebhook = Map.groupBy(due, ({ webhook }) => webhook);
  await Promise.all(
    [...byWebhook].map(async ([id, deliveries]) => {
      for (const delivery of deliveries) await send(deps, webhooks.get(id) ?? null, delivery);
    }),
  );
  return deps.store.nextAt(log);
}

async function send(deps: SendingDeps, webhook: Webhook | null, delivery: Delivery): Promise<void> {
  const outcome = await post(deps, webhook, delivery);
  const progress = toProgress(outcome, delivery, deps.clock.now());
  await deps.store.progress(delivery, progress);
  if (webhook !== null) await note(deps, webhook, { outcome, isDead: progress.state === "dead" });
}

async function post(
  { sender, box, clock }: SendingDeps,
  webhook: Webhook | null,
  { message, body }: Delivery,
): Promise<PostOutcome> {
  if (webhook === null || webhook.disabledAt !== null) return refused("the webhook is disabled");
  const now = clock.now();
  const isHeld = webhook.previous !== null && (webhook.previousUntil ?? 0) > now;
  const sealed = [
    webhook.secret,
    ...(isHeld && webhook.previous !== null ? [webhook.previous] : []),
  ];
  const opened = await Promise.all(
    sealed.map(async (secret) => box?.open(secret, webhook.id) ?? null),
  );
  const secrets = opened.filter((secret) => secret !== null);
  if (secrets.length === 0) return refused("its secret cannot be opened; rotate it");
  const signed = await signStandard({ id: message, at: now, body }, secrets);
  return sender.post({
    url: webhook.url,
    headers: { "content-type": "application/json", "user-agent": "holdfast-webhooks", ...signed },
    body,
  });
}

function toProgress(
  outcome: PostOutcome,
  { attempts: before }: Delivery,
  now: number,
): DeliveryProgress {
  const attempts = before + 1;
  const lastStatus = outcome.type === "answered" ? outcome.status : null;
  if (isDelivered(outcome))
    return { state: "delivered", attempts, nextAt: null, lastStatus, lastError: null };
  const lastError = outcome.type === "failed" ? outcome.message : `answered ${outcome.status}`;
  const wait = isFinal(outcome) ? undefined : WAITS[before];
  if (wait === undefined) return { state: "dead", attempts, nextAt: null, lastStatus, lastError };
  const asked = outcome.type === "answered" ? (outcome.retryAfterMs ?? 0) : 0;
  return { state: "waiting", attempts, nextAt: now + Math.max(wait, asked), lastStatus, lastError };
}

/** Trying again would change nothing. */
function isFinal(outcome: PostOutcome): boolean {
  return outcome.type === "answered"
    ? outcome.status === GONE
    : outcome.reason === "address_refused";
}

/** What the webhook itself comes to by this: working, failing, or told no more. */
async function note(
  { store, clock }: SendingDeps,
  webhook: Webhook,
  { outcome, isDead }: { readonly outcome: PostOutcome; readonly isDead: boolean },
): Promise<void> {
  const { tenant, id, failingSince, disabledAt } = webhook;
  if (disabledAt !== null) return;
  const now = clock.now();
  if (isDelivered(outcome)) {
    if (failingSince !== null) await store.change(tenant, id, { failingSince: null });
    return;
  }
  if (outcome.type === "answered" && outcome.status === GONE)
    return disable(store, { tenant, id, now, reason: "it answered 410 Gone" });
  if (isDead && failingSince !== null && now - failingSince >= DISABLE_AFTER_MS)
    return disable(store, { tenant, id, now, reason: "it took nothing for a day" });
  if (failingSince === null) await store.change(tenant, id, { failingSince: now });
}

async function disable(
  store: WebhookStore,
  {
    tenant,
    id,
    now,
    reason,
  }: {
    readonly tenant: TenantId;
    readonly id: string;
    readonly now: number;
    readonly reason: string;
  },
): Promise<void> {
  await store.change(tenant, id, { disabledAt: now, disabledReason: reason });
}

function refused(message: string): PostOutcome {
  return { type: "failed", reason: "address_refused", message };
}
