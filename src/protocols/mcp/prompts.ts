/** Prompts of the agent's definition, with completion of their arguments; a prompt may ask the client's user first (P103). */
import {
  completable,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type GetPromptResult,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ExportedPrompt, PromptArgument } from "#ports/agent-exports.ts";
import { isJsonObject, type Json } from "#shared/json.ts";
import type { McpCall } from "./call.ts";
import { toBlock } from "./encode.ts";

export function addPrompts(server: McpServer, { exports, older }: McpCall): void {
  for (const prompt of exports.prompts) {
    const { name, title, description, arguments: args } = prompt;
    const config = { ...(title === null ? {} : { title }), description };
    const serve = (
      values: { readonly [name: string]: string | undefined },
      context: ServerContext,
    ): GetPromptResult | InputRequiredResult => {
      if (older !== null && prompt.asks.length > 0)
        throw new ProtocolError(
          ProtocolErrorCode.InvalidRequest,
          "This prompt asks its user: it needs a client of revision 2026-07-28.",
        );
      return render(prompt, values, context);
    };
    if (args.length === 0) server.registerPrompt(name, config, (context) => serve({}, context));
    else
      server.registerPrompt(name, { ...config, argsSchema: toSchema(args) }, (values, context) =>
        serve(values, context),
      );
  }
}

function toSchema(args: readonly PromptArgument[]) {
  return z.object(Object.fromEntries(args.map((arg) => [arg.name, toField(arg)])));
}

function toField({ description, required, complete }: PromptArgument) {
  const text = z.string().describe(description);
  const field = required ? text : text.optional();
  if (complete === undefined) return field;
  return completable(field, (value) => [...complete(value ?? "")]);
}

function render(
  prompt: ExportedPrompt,
  values: { readonly [name: string]: string | undefined },
  { mcpReq }: ServerContext,
): GetPromptResult | InputRequiredResult {
  const answers = toAnswers(prompt, mcpReq.inputResponses);
  const missing = prompt.asks.filter(({ key }) => answers[key] === undefined);
  if (missing.length > 0) {
    const requests = missing.map(({ key, method, params }) => [key, { method, params }] as const);
    return inputRequired({ inputRequests: Object.fromEntries(requests) as never });
  }
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const messages = prompt.render(Object.fromEntries(given), answers);
  return {
    description: prompt.description,
    messages: messages.map(({ role, content }) => ({ role, content: toBlock(content) })),
  };
}

function toAnswers({ asks }: ExportedPrompt, responses: unknown): { readonly [key: string]: Json } {
  if (!isJsonObject(responses)) return {};
  const answers = asks.flatMap(({ key, method }) => {
    const response = responses[key];
    if (response === undefined) return [];
    if (method !== "elicitation/create") return [[key, response] as const];
    const content =
      isJsonObject(response) && response["action"] === "accept" ? response["content"] : undefined;
    return content === undefined ? [] : [[key, content] as const];
  });
  return Object.fromEntries(answers);
}
