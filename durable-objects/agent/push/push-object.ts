/** What can be asked of the notifications of a thread's runs, as methods of its Durable Object. */
import type { PushConfigView, PushStub, PutPushConfig } from "#ports/push.ts";
import type { Caller, Reply } from "#ports/thread-gateway.ts";
import { ScheduledThread } from "#durable-objects/agent/schedule-object.ts";
import { ACCESS } from "#durable-objects/agent/thread-object.ts";
import * as push from "./push-commands.ts";

export abstract class NotifyingThread<E extends Cloudflare.Env = Cloudflare.Env>
  extends ScheduledThread<E>
  implements PushStub
{
  async putPushConfig(caller: Caller, config: PutPushConfig): Promise<Reply<PushConfigView>> {
    const reply = await this[ACCESS].read(caller, (host) => push.putPushConfig(host, config));
    if (reply.ok) await this[ACCESS].notify();
    return reply;
  }

  async pushConfigs(caller: Caller, runId: string): Promise<Reply<readonly PushConfigView[]>> {
    return this[ACCESS].read(caller, (host) => push.listPushConfigs(host, runId));
  }

  async dropPushConfig(caller: Caller, runId: string, configId: string): Promise<Reply<null>> {
    return this[ACCESS].read(caller, (host) => push.dropPushConfig(host, { runId, configId }));
  }
}
