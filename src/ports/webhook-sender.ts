/**
 * WebhookSender: one POST to an address that a tenant gave. Webhooks and push notifications leave by this, and nothing else.
 *
 * The address is checked before each request and redirects are never
 * followed, so that no answer leads inside; time is bounded, headers and body together; what the other side says is
 * dropped unread. `post` never throws for what the other side does: that is an outcome.
 */
export interface OutgoingPost {
  readonly url: string;
  /** Lower-case names. `content-type` is the caller's. */
  readonly headers: { readonly [name: string]: string };
  /** At most `MAX_POST_BYTES` of UTF-8; more is a fault of the caller. */
  readonly body: string;
}
export type PostOutcome =
  | {
      readonly type: "answered";
      readonly status: number;
      /** What the other side asked for, when it did. */
      readonly retryAfterMs: number | null;
    }
  | { readonly type: "failed"; readonly reason: PostFailure; readonly message: string };
/** `address_refused`: this address is never asked, now or later. */
export type PostFailure = "address_refused" | "timeout" | "unreachable";

export const MAX_POST_BYTES = 262_144;

export interface WebhookSender {
  post(request: OutgoingPost): Promise<PostOutcome>;
}

/** Whether it was taken: any 2xx. A redirect is not. */
export function isDelivered(outcome: PostOutcome): boolean {
  return outcome.type === "answered" && outcome.status >= 200 && outcome.status < 300;
}
