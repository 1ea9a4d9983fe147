/**
 * Usage that a provider tells late, by the id of the attempt's intent: it is the key under which gateways log the call.
 *
 * Keeps B26: the first that comes is recorded, the same again is answered with the same receipt, other usage is refused.
 */
import type { LateUsage } from "#ports/spend.ts";
import type { Receipt } from "#kernel/commands.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import { readProviderUsage } from "#ports/provider-usage.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import { toSettlement } from "#runner/pricing.ts";
import { canonicalJson, type Json } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { toFailure } from "./refusals.ts";
import type { ThreadHost } from "./thread-host.ts";

const SLICE = 256;
const SHAPE =
  "this is no usage that is known here: send the object as the provider gave it, with its input and output tokens";

export function correctUsage(host: ThreadHost, caller: Caller, late: LateUsage): Reply<Receipt> {
  const usage = readProviderUsage(late.usage);
  if (usage === null || usage.inputTokens === null || usage.outputTokens === null)
    return err({ code: "invalid_request", message: SHAPE, detail: {}, retryable: false });
  const event = lastCausedBy(host, late.intent);
  if (event === null) return err(toFailure({ reason: "usage_unknown" }));
  const known = event.type === "usage.corrected" ? event.payload : null;
  const route = known?.before.settlement.route ?? routeOf(event);
  const price = host.prices.price(route);
  const estimate = { input: 0, output: 0 };
  const after = toSettlement(usage, { route, price, estimate });
  if (known !== null)
    return repeated(event, { said: known.after.settlement.usage, now: after.usage });
  return host.submit(
    caller,
    { type: "correct_usage", outcome: event, after, priceVersion: price?.version ?? null },
    { idempotencyKey: null, body: null },
  );
}

function routeOf({ payload }: ThreadEvent): string {
  return payload !== null && "settlement" in payload ? (payload.settlement.route ?? "") : "";
}

function repeated(
  { header }: ThreadEvent,
  usage: { readonly said: unknown; readonly now: unknown },
): Reply<Receipt> {
  // Both are stored usage: plain JSON.
  const isSame = canonicalJson(usage.said as Json) === canonicalJson(usage.now as Json);
  if (!isSame) return err(toFailure({ reason: "usage_final" }));
  return ok({ seq: header.seq, runId: header.run, messageId: null, disposition: "unchanged" });
}

/** Newest first: a correction lies behind the outcome that it corrects. */
function lastCausedBy({ log }: ThreadHost, intent: string): ThreadEvent | null {
  let to = log.head().seq;
  while (to > 0) {
    const events = log.read({ to, limit: SLICE, reverse: true });
    const found = events.find(({ header }) => header.cause === intent);
    if (found !== undefined) return found;
    to = (events.at(-1)?.header.seq ?? 1) - 1;
  }
  return null;
}
