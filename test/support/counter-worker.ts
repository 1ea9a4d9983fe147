/** The smallest Worker with something to lose: one durable counter. Shows that the crash harness can tell loss from none. */
import { DurableObject } from "cloudflare:workers";

interface CounterEnv {
  readonly AGENT: DurableObjectNamespace<AgentObject>;
}

export class AgentObject extends DurableObject {
  /** Acknowledged only once it is durable: replies wait for the write. */
  increment(by: number): number {
    const next = (this.ctx.storage.kv.get<number>("count") ?? 0) + by;
    this.ctx.storage.kv.put("count", next);
    return next;
  }
}
export class MemoryObject extends DurableObject {}
export class LedgerObject extends DurableObject {}

export default {
  async fetch(request: Request, env: CounterEnv): Promise<Response> {
    if (new URL(request.url).pathname === "/healthz") return new Response("ok");
    const by = request.method === "POST" ? 1 : 0;
    const counter = env.AGENT.get(env.AGENT.idFromName("counter"));
    return Response.json({ count: await counter.increment(by) });
  },
};
