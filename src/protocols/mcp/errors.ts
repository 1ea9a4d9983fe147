/**
 * Failures as results of tools: `isError`, words for the model, and no structured content, because an error fits no output
 * schema (P83).
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Failure } from "#ports/thread-gateway.ts";
import { toProblem } from "#protocols/rest/errors.ts";
import type { Json } from "#shared/json.ts";

export function toErrorResult(failure: Failure): CallToolResult {
  const { code, detail } = toProblem(failure, "");
  return { isError: true, content: [{ type: "text", text: `${code}: ${detail}` }] };
}

/** What is wrong with a request before anything of it is understood. */
export function toError(
  status: number,
  error: { readonly code: number; readonly message: string; readonly data?: Json },
  headers: { readonly [name: string]: string } = {},
): Response {
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status, headers });
}
