/**
 * The product's own composition with an agent that takes no time: `steps N` asks for N tool calls, one a step, each four
 * events of the log, so that what is left is the run itself and the protocol that tells of it.
 */
import { z } from "zod";
import { ThreadAgent } from "../../durable-objects/agent-object.ts";
import type { ThreadComposition } from "../../durable-objects/agent/composition.ts";
import { BudgetObject } from "../../durable-objects/ledger-object.ts";
import { defineAgent } from "../../src/authoring/define-agent.ts";
import { defineTool } from "../../src/authoring/define-tool.ts";
import { composeApp, composeLedger, composeThread } from "../../src/composition.ts";
import type { Env } from "../../src/env.ts";
import type { Model, ModelRequest } from "../../src/ports/model.ts";
import { USAGE } from "../instant-model.ts";

export { MemoryObject } from "../../durable-objects/memory-object.ts";

const ROUTE = "bench/instant";
const FREE = { version: "bench", inputMicrosPerMillion: 0, outputMicrosPerMillion: 0 };
const LIMIT = 1_000_000;
const tick = defineTool({
  name: "tick",
  description: "Ticks.",
  version: "1",
  effect: "read",
  input: z.object({ n: z.number() }),
  limits: { maxCallsPerRun: LIMIT },
  execute: ({ n }) => `tick ${n}`,
});
const AGENT = defineAgent({
  name: "bench",
  description: "Ticks.",
  instructions: "Tick until told to stop.",
  model: ROUTE,
  tools: [tick],
  limits: { maxSteps: LIMIT, maxTokens: null, maxCostMicros: null },
});

/** Steps that are left, by the message that asked for them. */
const left = new Map<string, number>();
const instant: Model = {
  route: ROUTE,
  async *stream(request) {
    const asked = lastUserText(request);
    const n = left.get(asked) ?? Number(/steps (\d+)/.exec(asked)?.[1] ?? 0);
    left.set(asked, n - 1);
    if (n > 0) {
      yield { type: "call", providerCallId: "c", name: "tick", argsText: `{"n":${n}}` };
      yield { type: "finish", reason: "tool_calls", raw: "tool_calls", usage: USAGE };
    } else {
      yield { type: "text", text: "done" };
      yield { type: "finish", reason: "stop", raw: "stop", usage: USAGE };
    }
  },
};

function lastUserText({ messages }: ModelRequest): string {
  const user = messages.findLast(({ role }) => role === "user");
  return user?.role === "user" ? user.content.map(({ text }) => text).join("") : "";
}

export class AgentObject extends ThreadAgent {
  static override readonly compose = (env: Env): ThreadComposition => ({
    ...composeThread(env, [AGENT]),
    prices: () => ({ price: () => FREE }),
    models: { resolve: () => instant },
  });
}
export class LedgerObject extends BudgetObject {
  static override readonly compose = (env: Env): ReturnType<typeof composeLedger> =>
    composeLedger(env);
}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response> {
    return composeApp(env, [AGENT]).fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
