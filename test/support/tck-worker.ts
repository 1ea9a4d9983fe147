/**
 * Entry of the build that the A2A compatibility kit is run against: the product with one agent that plays the kit's
 * scenarios, which the kit names by the beginning of a message's id.
 *
 * The kit sends no credentials, and uses one message id for many messages; for this server a message that comes again is the
 * same message. So a front gives each request a key and each message an id of its own, and changes nothing else.
 */
import { z } from "zod";
import { defineAgent } from "#authoring/define-agent.ts";
import { defineTool } from "#authoring/define-tool.ts";
import { ThreadAgent } from "#durable-objects/agent-object.ts";
import type { ThreadComposition } from "#durable-objects/agent/composition.ts";
import { BudgetObject } from "#durable-objects/ledger-object.ts";
import type { Model, ModelPart, ModelRequest } from "#ports/model.ts";
import { isJsonObject, type JsonObject } from "#shared/json.ts";
import { composeApp, composeLedger, composeThread } from "#src/composition.ts";
import type { Env } from "#src/env.ts";
import { FREE_PRICES } from "#test/support/free-prices.ts";
import { askHuman } from "#tools/ask-human.ts";

export { MemoryObject } from "#durable-objects/memory-object.ts";

interface KitEnv extends Env {
  readonly KIT_KEY: string;
}

const ROUTE = "test/tck";
const USAGE = {
  inputTokens: 1,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  outputTokens: 1,
  reasoningTokens: null,
};

/** Scenario of the newest message with a text, as the front saw it: the model is told texts, not ids. */
const scenarios = new Map<string, string>();

const note = defineTool({
  name: "note",
  description: "Notes that work was done.",
  version: "1",
  input: z.object({}),
  effect: "read",
  execute: () => "noted",
});
const write = defineTool({
  name: "write",
  description: "Writes a file.",
  version: "1",
  input: z.object({ path: z.string(), content: z.string() }),
  effect: "idempotent",
  execute: ({ path, content }, { files }) => {
    files.write(path, new TextEncoder().encode(content));
    return "written";
  },
});

const tck: Model = {
  route: ROUTE,
  async *stream(request) {
    const { said, results } = readPrompt(request);
    const scenario = scenarios.get(said) ?? "tck-complete-task";
    const is = (prefix: string): boolean => scenario.startsWith(prefix);
    if (is("tck-input-required")) yield* call("ask_human", { question: "What next?" });
    else if (is("tck-message-response")) yield* say("Direct message response");
    else if (results === 0 && is("tck-artifact-file"))
      yield* call("write", { path: "output.txt", content: "File content" });
    else if (results === 0) yield* call("note", {});
    else if (is("tck-artifact-text")) yield* say("Generated text content");
    else if (is("tck-artifact-data")) yield* say('{"key": "value", "count": 42}');
    else if (is("tck-stream-artifact-text")) yield* say("Streamed text content");
    else if (is("tck-stream-artifact-chunked")) yield* say("chunk-1 ", "chunk-2");
    else if (is("tck-stream-ordering")) yield* say("Ordered output");
    else if (is("tck-stream-003")) yield* say("Stream task lifecycle");
    else if (is("tck-stream")) yield* say("Stream hello from TCK");
    else if (is("test-resubscribe")) {
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      yield* say("Done");
    } else yield* say("Hello from TCK");
  },
};

function* say(...texts: readonly string[]): Generator<ModelPart> {
  for (const text of texts) yield { type: "text", text };
  yield { type: "finish", reason: "stop", raw: null, usage: USAGE };
}

function* call(name: string, args: JsonObject): Generator<ModelPart> {
  yield { type: "call", providerCallId: "p0", name, argsText: JSON.stringify(args) };
  yield { type: "finish", reason: "tool_calls", raw: null, usage: USAGE };
}

/** The newest words of a person, which may be the answer to a question, and the results behind them. */
function readPrompt({ messages }: ModelRequest): { said: string; results: number } {
  let said = "";
  let results = 0;
  for (const message of messages) {
    if (message.role === "user") {
      said = message.content.map(({ text }) => text).join("");
      results = 0;
    } else if (message.role === "tool") {
      for (const { output } of message.content) {
        results += 1;
        if (scenarios.has(output)) said = output;
      }
    }
  }
  return { said, results };
}

const AGENT = defineAgent({
  name: "tck",
  description: "Plays the scenarios of the A2A compatibility kit.",
  instructions: "Play the scenario.",
  model: ROUTE,
  tools: [askHuman, note, write],
  replies: "message",
});

export class AgentObject extends ThreadAgent {
  static override readonly compose = (env: Env): ThreadComposition => ({
    ...composeThread(env, [AGENT]),
    prices: () => FREE_PRICES,
    models: { resolve: () => tck },
  });
}

export class LedgerObject extends BudgetObject {
  static override readonly compose = (env: Env): ReturnType<typeof composeLedger> =>
    composeLedger(env);
}

async function front(request: Request, key: string): Promise<Request> {
  const headers = new Headers(request.headers);
  if (!headers.has("authorization")) headers.set("authorization", `Bearer ${key}`);
  if (request.method !== "POST") return new Request(request, { headers });
  const text = await request.text();
  const init = { method: "POST", headers, redirect: "manual" as const };
  const body = text === "" ? null : rewrite(text);
  return new Request(request.url, body === null ? init : { ...init, body });
}

function rewrite(text: string): string {
  try {
    const body: unknown = JSON.parse(text);
    const params = isJsonObject(body) && isJsonObject(body["params"]) ? body["params"] : body;
    const message = isJsonObject(params) ? params["message"] : null;
    if (!isJsonObject(message) || typeof message["messageId"] !== "string") return text;
    const { messageId, parts } = message;
    const first = Array.isArray(parts) ? parts[0] : null;
    if (isJsonObject(first))
      scenarios.set(String(first["text"] ?? JSON.stringify(first["data"])), messageId);
    const own = `${messageId.slice(0, 20)}-${crypto.randomUUID()}`;
    return text.replace(JSON.stringify(messageId), JSON.stringify(own));
  } catch {
    return text;
  }
}

export default {
  async fetch(request: Request, env: KitEnv, ctx: ExecutionContext): Promise<Response> {
    return composeApp(env, [AGENT]).fetch(await front(request, env.KIT_KEY), env, ctx);
  },
} satisfies ExportedHandler<KitEnv>;
