/** The only entry of the Worker: exports the objects and answers requests. No logic. */
import { AGENTS } from "#agents/registry.generated.ts";
import { ThreadAgent } from "#durable-objects/agent-object.ts";
import { BudgetObject } from "#durable-objects/ledger-object.ts";
import { MemoryObject as Scope } from "#durable-objects/memory-object.ts";
import { composeApp, composeLedger, composeScope, composeThread } from "./composition.ts";
import type { Env } from "./env.ts";

export class MemoryObject extends Scope {
  static override readonly compose = composeScope;
}

export class AgentObject extends ThreadAgent {
  static override readonly compose = (env: Env): ReturnType<typeof composeThread> =>
    composeThread(env, AGENTS);
}

export class LedgerObject extends BudgetObject {
  static override readonly compose = (env: Env): ReturnType<typeof composeLedger> =>
    composeLedger(env);
}

let app: ReturnType<typeof composeApp> | null = null;

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response> {
    // Bindings do not change within an isolate, and the app holds caches that should live as long.
    app ??= composeApp(env, AGENTS);
    return app.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
