/** WebhookSender over `fetch`: no redirects, no cookies, one deadline for the whole exchange, no byte of the answer kept. */
import type { Clock } from "#ports/clock.ts";
import {
  MAX_POST_BYTES,
  type OutgoingPost,
  type PostOutcome,
  type WebhookSender,
} from "#ports/webhook-sender.ts";
import { AppError } from "#shared/errors.ts";
import { utf8 } from "#shared/json.ts";

const DEFAULT_TIMEOUT_MS = 10_000;
/** Nobody is believed who asks to be left alone for longer. */
const MAX_RETRY_AFTER_MS = 86_400_000;

export interface FetchWebhookSenderDeps {
  /** Null where the address may be asked, else why not, in words for the tenant. */
  readonly refuse: (url: string) => Promise<string | null> | string | null;
  readonly clock: Clock;
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

export class FetchWebhookSender implements WebhookSender {
  readonly #deps: FetchWebhookSenderDeps;

  constructor(deps: FetchWebhookSenderDeps) {
    this.#deps = deps;
  }

  async post({ url, headers, body }: OutgoingPost): Promise<PostOutcome> {
    const bytes = utf8(body);
    if (bytes.byteLength > MAX_POST_BYTES)
      throw new AppError("body_too_large", `a webhook has at most ${MAX_POST_BYTES} bytes`);
    const refused = await this.#deps.refuse(url);
    if (refused !== null) return { type: "failed", reason: "address_refused", message: refused };
    const { fetch: send = globalThis.fetch, timeoutMs = DEFAULT_TIMEOUT_MS, clock } = this.#deps;
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const response = await send(url, {
        method: "POST",
        headers,
        body: bytes,
        redirect: "manual",
        signal,
      });
      const retryAfterMs = toDelay(response.headers.get("retry-after"), clock.now());
      await response.body?.cancel();
      return { type: "answered", status: response.status, retryAfterMs };
    } catch {
      // What the platform says of a failed connection may name addresses behind the tenant's; it is not passed on.
      return signal.aborted
        ? { type: "failed", reason: "timeout", message: `no answer within ${timeoutMs} ms` }
        : { type: "failed", reason: "unreachable", message: "the address could not be reached" };
    }
  }
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3). */
function toDelay(text: string | null, now: number): number | null {
  if (text === null) return null;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : null;
}
