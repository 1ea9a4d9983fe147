/** MemoryReceiver: a WebhookSender whose other side is a test: it answers as it is told, and keeps what reached it. */
import type { OutgoingPost, PostOutcome, WebhookSender } from "#ports/webhook-sender.ts";
import type { Json } from "#shared/json.ts";

export class MemoryReceiver implements WebhookSender {
  readonly posts: OutgoingPost[] = [];
  /** Asked for each; what it answers is what the other side answered. */
  answer: (post: OutgoingPost, count: number) => PostOutcome | Promise<PostOutcome> = () =>
    answered(200);

  async post(post: OutgoingPost): Promise<PostOutcome> {
    this.posts.push(post);
    return this.answer(post, this.posts.length);
  }
  get ids(): readonly string[] {
    return this.posts.map(({ headers }) => headers["webhook-id"] ?? "");
  }
  get bodies(): readonly {
    readonly type: string;
    readonly data: { readonly [key: string]: Json };
  }[] {
    return this.posts.map(({ body }) => JSON.parse(body));
  }
}

export function answered(status: number, retryAfterMs: number | null = null): PostOutcome {
  return { type: "answered", status, retryAfterMs };
}
