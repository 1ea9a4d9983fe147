/** What can be asked of the deliveries of a thread, as a method of its Durable Object. */
import type { DeliveryStub } from "#ports/delivery-stub.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import { err, ok } from "#shared/result.ts";
import { checkScope } from "./access.ts";
import { replyWith } from "./refusals.ts";
import { NotifyingThread } from "./push/push-object.ts";
import { ACCESS } from "./thread-object.ts";

export abstract class DeliveringThread<E extends Cloudflare.Env = Cloudflare.Env>
  extends NotifyingThread<E>
  implements DeliveryStub
{
  async redeliver(caller: Caller, webhook: string, message: string): Promise<Reply<null>> {
    const host = await this[ACCESS].ready();
    const allowed = host.guard(caller, () => checkScope(caller, "operate"));
    if (!allowed.ok) return allowed;
    try {
      if (!(await host.webhooks.redeliver(webhook, message)))
        return err({
          code: "not_found",
          message: "no such delivery",
          detail: {},
          retryable: false,
        });
    } catch (error) {
      return replyWith(error);
    }
    await this[ACCESS].nudge();
    return ok(null);
  }
}
