/**
 * AgentExports: what an agent shows of itself over MCP besides its conversation: tools, prompts and resources.
 *
 * An exported tool is a plan: which of the agent's own tools to call, and what to make of their results. It is run without a
 * language model, but as a run like any other: each call crosses the gate, waits for people, and survives a crash.
 */
import type { ArgumentIssue, ClientRequest } from "./tool.ts";
import type { ContentPart, ResourceContent } from "./content.ts";
import type { Json, JsonObject } from "#shared/json.ts";
import type { Result } from "#shared/result.ts";

/** Tools that every agent's MCP server has (protocols/mcp/tools.ts). */
export const RESERVED_EXPORTS: ReadonlySet<string> = new Set([
  "ask",
  "start_run",
  "run_status",
  "run_result",
  "answer",
  "list_threads",
]);

export interface AgentExports {
  readonly tools: readonly ExportedTool[];
  readonly prompts: readonly ExportedPrompt[];
  readonly resources: readonly ExportedResource[];
}

/** Whether a call may, or must, be a task that its client polls. */
export type TaskSupport = "forbidden" | "optional" | "required";

export interface ExportedTool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Of `structuredContent`; null gives content only. */
  readonly outputSchema: JsonObject | null;
  readonly readOnly: boolean;
  readonly tasks: TaskSupport;
  /** Questions are put before the task begins, not by it. */
  readonly asksFirst: boolean;
  /** An older client is sent away at once, and comes back for the result. */
  readonly slow: boolean;
  /** Scopes that a call needs besides those of every call. */
  readonly scopes: readonly string[];
  /** The agent's tools that the plan may call: what a call's run is pinned to. */
  readonly uses: readonly string[];
  parse(args: Json): Result<JsonObject, readonly ArgumentIssue[]>;
  /** Pure, and asked again after a crash: the same rounds give the same step. */
  next(args: JsonObject, rounds: readonly PlanRound[]): PlanStep;
}
/** Results of one step's calls, in the order in which they were made. */
export type PlanRound = readonly PlanResult[];
export interface PlanResult {
  readonly ok: boolean;
  /** As the tool gave it: JSON is text. */
  readonly text: string;
}
export type PlanStep =
  | { readonly type: "call"; readonly calls: readonly PlannedCall[] }
  /** Null answers with the content of the last round. */
  | { readonly type: "done"; readonly text: string | null }
  /** The plan itself cannot go on: the run fails. What a tool refuses is a result, not this. */
  | { readonly type: "fail"; readonly message: string };
export interface PlannedCall {
  readonly tool: string;
  readonly args: JsonObject;
}

export interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  /** Proposals for what has been typed so far. */
  complete?(value: string): readonly string[];
}
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentPart;
}
export interface ExportedPrompt {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
  /** What the client's user is asked before, by key. */
  readonly asks: readonly ClientRequest[];
  /** `answers`: to `asks`, by key. */
  render(
    args: { readonly [name: string]: string },
    answers: { readonly [key: string]: Json },
  ): readonly PromptMessage[];
}

export interface ExportedResource {
  readonly name: string;
  /** An address, or a template of RFC 6570. */
  readonly uri: string;
  readonly description: string;
  readonly mimeType: string;
  read(
    uri: string,
    variables: { readonly [name: string]: string },
  ): ResourceContent | Promise<ResourceContent>;
}
