/** Entry of the test build: the product's own composition with the agents, models and clock of the lab. */
import { AGENTS } from "#agents/registry.generated.ts";
import { ThreadAgent } from "#durable-objects/agent-object.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import { BudgetObject } from "#durable-objects/ledger-object.ts";
import type { LedgerComposition } from "#durable-objects/ledger/composition.ts";
import { MemoryObject as Scope, type ScopeComposition } from "#durable-objects/memory-object.ts";
import { composeApp, composeLedger, composeScope, composeThread } from "#src/composition.ts";
import type { Env } from "#src/env.ts";
import { lab, LAB_MODELS, labPrices } from "./lab.ts";

export class MemoryObject extends Scope {
  static override readonly compose = (env: Env): ScopeComposition => ({
    ...composeScope(env),
    clock: lab.clock,
    heartbeatMs: lab.heartbeatMs,
    ...(lab.build.erasers === undefined ? {} : { erasers: lab.build.erasers }),
  });
}

/** User tokens and heads of logs are signed with them; deployments set their own. The key is that of RFC 8037, appendix A. */
const SECRETS = {
  HOLDFAST_TOKEN_SECRET: "secret of the test build, 32 and more",
  HOLDFAST_SIGNING_KEY: JSON.stringify({
    kty: "OKP",
    crv: "Ed25519",
    d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  }),
};

export class AgentObject extends ThreadAgent {
  static override readonly compose = (env: Env): ThreadComposition => {
    const own = composeThread({ ...env, ...SECRETS }, AGENTS, { clock: lab.clock });
    return {
      ...own,
      ...lab.build,
      clock: lab.clock,
      heartbeatMs: lab.heartbeatMs,
      webhooks: { ...own.webhooks, sender: lab.sender ?? own.webhooks.sender },
      hooks: (thread) =>
        lab.leases ? { ...lab.hooks, budget: own.hooks(thread).budget } : lab.hooks,
      prices: (tenant) => labPrices(own.prices(tenant)),
      models: { resolve: (route) => LAB_MODELS.resolve(route) ?? own.models.resolve(route) },
      get agents() {
        return new Map([...own.agents, ...lab.agents]);
      },
    };
  };
}

export class LedgerObject extends BudgetObject {
  static override readonly compose = (env: Env): LedgerComposition =>
    composeLedger({ ...env, ...SECRETS }, { clock: lab.clock, askAfterMs: lab.askAfterMs });
}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response> {
    return composeApp({ ...env, ...SECRETS }, [...AGENTS, ...lab.agents.values()]).fetch(
      request,
      env,
      ctx,
    );
  },
} satisfies ExportedHandler<Env>;
