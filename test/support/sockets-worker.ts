/**
 * Entry of the build that real clients of the Agents SDK are run against: the product's own composition with one agent,
 * whose model does what the message says. It is slow where a test has to come in between.
 */
import { z } from "zod";
import { AGENTS } from "#agents/registry.generated.ts";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineClientTool } from "#authoring/define-client-tool.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { ThreadAgent } from "#durable-objects/agent-object.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import type { Model, ModelPart, ModelRequest } from "#ports/model.ts";
import { BudgetObject } from "#durable-objects/ledger-object.ts";
import { composeApp, composeLedger, composeThread } from "#src/composition.ts";
import type { Env } from "#src/env.ts";
import { MCP_FIXTURE } from "#test/support/mcp-fixture/agent.ts";
import { FREE_PRICES } from "#test/support/free-prices.ts";
import { weatherAgent } from "#test/support/weather-agent.ts";

export { MemoryObject } from "#durable-objects/memory-object.ts";

const ROUTE = "test/obeys";
const USAGE = {
  inputTokens: 1,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  outputTokens: 1,
  reasoningTokens: null,
};

/**
 * `say TEXT`, `slow N` (N words, one each 40 ms), `call TOOL JSON [TOOL JSON]...`; after results it names them, slowly after
 * `then N call ...`.
 */
const obeys: Model = {
  route: ROUTE,
  async *stream(request, { signal }) {
    const said = lastUserText(request).split(" ");
    const [verb = "", ...rest] = said[0] === "then" ? said.slice(2) : said;
    const results = lastResults(request);
    if (results.length > 0 && said[0] === "then") yield* slowly(Number(said[1]), signal);
    else if (results.length > 0) {
      yield* say(`got ${results.join(" and ")}`);
    } else if (verb === "call") {
      for (let index = 0; index + 1 < rest.length; index += 2) {
        const [name = "", argsText = "{}"] = rest.slice(index, index + 2);
        yield { type: "call", providerCallId: `p${index}`, name, argsText };
      }
      yield { type: "finish", reason: "tool_calls", raw: null, usage: USAGE };
    } else if (verb === "slow") yield* slowly(Number(rest[0]), signal);
    else yield* say(rest.join(" "));
  },
};

async function* slowly(words: number, signal: AbortSignal): AsyncGenerator<ModelPart> {
  for (let word = 1; word <= words; word += 1) {
    await new Promise((resolve) => setTimeout(resolve, 40));
    if (signal.aborted) return;
    yield { type: "text", text: `w${word} ` };
  }
  yield { type: "finish", reason: "stop", raw: null, usage: USAGE };
}

function* say(text: string): Generator<ModelPart> {
  yield { type: "text", text };
  yield { type: "finish", reason: "stop", raw: null, usage: USAGE };
}

function lastUserText({ messages }: ModelRequest): string {
  const user = messages.findLast(({ role }) => role === "user");
  return user?.role === "user" ? user.content.map(({ text }) => text).join("") : "";
}

function lastResults({ messages }: ModelRequest): readonly string[] {
  const before = messages.findLastIndex(({ role }) => role !== "tool");
  return messages
    .slice(before + 1)
    .flatMap((message) =>
      message.role === "tool" ? message.content.map(({ output }) => output) : [],
    );
}

const refund = defineTool({
  name: "refund",
  description: "Refunds an order.",
  version: "1",
  input: z.object({ order: z.number() }),
  effect: "once",
  approval: "always",
  execute: ({ order }) => `refunded ${order}`,
});
const where = defineClientTool({
  name: "where",
  description: "Asks the client where its user is.",
  version: "1",
  input: z.object({}),
});
const add = defineTool({
  name: "add",
  description: "Adds.",
  version: "1",
  input: z.object({ a: z.number(), b: z.number() }),
  effect: "read",
  execute: ({ a, b }) => ({ sum: a + b }),
});

const AGENT = defineAgent({
  name: "obeys",
  description: "Does what the message says.",
  instructions: "Do what the message says.",
  model: ROUTE,
  tools: [refund, where, add],
});

const ALL = [...AGENTS, AGENT, weatherAgent, MCP_FIXTURE];

export class AgentObject extends ThreadAgent {
  static override readonly compose = (env: Env): ThreadComposition => {
    const own = composeThread(env, ALL);
    return {
      ...own,
      prices: () => FREE_PRICES,
      models: { resolve: (route) => (route === ROUTE ? obeys : own.models.resolve(route)) },
    };
  };
}

export class LedgerObject extends BudgetObject {
  static override readonly compose = (env: Env): ReturnType<typeof composeLedger> =>
    composeLedger(env);
}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response> {
    return composeApp(env, ALL).fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
