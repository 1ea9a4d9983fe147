/** A real thread, from storage to runner, with a model and a tool that take no time. */
import { z } from "zod";
import { ThreadAgent } from "../durable-objects/agent-object.ts";
import type { ThreadComposition } from "../durable-objects/agent/composition.ts";
import { ThreadHost } from "../durable-objects/agent/thread-host.ts";
import { defineAgent } from "../src/authoring/define-agent.ts";
import { defineTool } from "../src/authoring/define-tool.ts";
import type { LedgerStub } from "../src/ports/budget-ledger.ts";
import { fromObjectName } from "../src/shared/ids.ts";
import { composeBench } from "./composition.ts";
import { InstantModel } from "./instant-model.ts";

export const model = new InstantModel();
const tick = defineTool({
  name: "tick",
  description: "Does nothing.",
  version: "1",
  input: z.object({ n: z.number() }),
  effect: "read",
  limits: { maxCallsPerRun: 1_000_000 },
  execute: async ({ n }) => `tick ${n}`,
});
const bench = defineAgent({
  name: "bench",
  description: "Measures a step.",
  instructions: "Tick until told to stop.",
  model: model.route,
  tools: [tick],
  limits: { maxSteps: 100_000 },
});

interface BenchObjects extends Cloudflare.Env {
  readonly LEDGER: DurableObjectNamespace;
}

export class AgentObject extends ThreadAgent<BenchObjects> {
  static override readonly compose = (env: BenchObjects): ThreadComposition =>
    composeBench({
      agent: bench,
      model,
      ledger: () => env.LEDGER.get(env.LEDGER.idFromName("v1/bench")) as unknown as LedgerStub,
    });

  /** Mean milliseconds that opening the thread's storage and folding its log takes. */
  async reopen(times: number): Promise<number> {
    const address = fromObjectName(this.ctx.id.name ?? "");
    if (address === null) throw new Error("a bench thread has a name");
    const startedAt = performance.now();
    for (let time = 0; time < times; time += 1)
      void new ThreadHost(address, this.ctx.storage, AgentObject.compose(this.env));
    return (performance.now() - startedAt) / times;
  }
}
