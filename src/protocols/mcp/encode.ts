/** Views of a run, and content, as MCP has them: structured for programs, words for a model. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ContentPart, ResourceContent } from "#ports/content.ts";
import type { ApprovalView, RunView } from "#ports/thread-gateway.ts";
import type { RunOutput } from "./wire.ts";

export function toRunOutput(
  thread: string,
  view: RunView,
  open: readonly ApprovalView[],
): RunOutput {
  return {
    thread,
    run: view.runId,
    status: view.status,
    finish: view.finish,
    reason: view.reason === null ? view.message : `${view.reason}: ${view.message ?? ""}`,
    text: view.text,
    waiting: open.map(({ approvalId, kind, tool, args, question, answerSchema }) => ({
      approval: approvalId,
      kind,
      tool,
      args,
      question,
      answerSchema,
    })),
  };
}

export function toRunResult(output: RunOutput): CallToolResult {
  return {
    ...(output.status === "failed" ? { isError: true } : { structuredContent: output }),
    content: [{ type: "text", text: toWords(output) }],
  };
}

function toWords({ thread, run, status, text, reason, waiting }: RunOutput): string {
  const place = `thread ${thread}, run ${run}`;
  if (status === "completed") return text ?? "";
  if (status === "failed" || status === "cancelled")
    return `The run ${status} (${place}): ${reason ?? ""}`;
  if (waiting.length === 0)
    return `The run is ${status} (${place}). Ask for it again with run_result.`;
  const asked = waiting.map(({ approval, question, tool, args }) =>
    question === null
      ? `- approval ${approval}: may ${tool ?? "a tool"} run with ${JSON.stringify(args)}?`
      : `- question ${approval}: ${question}`,
  );
  return `The run waits for a person (${place}). Decide with the tool answer:\n${asked.join("\n")}`;
}

type Block = NonNullable<CallToolResult["content"]>[number];
type ResourceBlock = Extract<Block, { readonly type: "resource" }>;

export function toBlock(part: ContentPart): Block {
  return part.type === "resource" ? toResourceBlock(part.resource) : part;
}

export function toResourceBlock({ uri, mimeType, text, blob }: ResourceContent): ResourceBlock {
  const resource =
    text === undefined ? { uri, mimeType, blob: blob ?? "" } : { uri, mimeType, text };
  return { type: "resource", resource };
}
