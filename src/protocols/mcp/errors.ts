/**
 * Failures as results of tools: `isError`, words for the model, and no structured content, because an error fits no output
 * schema (P83).
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Failure } from "#ports/thread-gateway.ts";
import { toProblem } from "#protocols/rest/errors.ts";

export function toErrorResult(failure: Failure): CallToolResult {
  const { code, detail } = toProblem(failure, "");
  return { isError: true, content: [{ type: "text", text: `${code}: ${detail}` }] };
}
