/**
 * MCP: each agent is a remote MCP server at `/mcp/:agent`, stateless (revision 2026-07-28), with older Streamable HTTP clients
 * on the same endpoint.
 *
 * P80 a page of another origin is refused before its body is read. No server outlives its request, so no client meets
 * another's (P84).
 */
import { createMcpHandler } from "agents/mcp/server";
import { McpServer } from "@modelcontextprotocol/server";
import { addResources } from "./resources.ts";
import { addTools, type McpCall } from "./tools.ts";

export interface McpRequest extends McpCall {
  readonly request: Request;
  /** Of the agent, for who chooses among tools. */
  readonly description: string;
  readonly allowedOrigins: readonly string[];
  readonly context: ExecutionContext;
}

/** Null where the request may go on; its origin is this server's, configured, or not a page's. */
export function isForeignOrigin(request: Request, allowed: readonly string[]): boolean {
  const origin = request.headers.get("origin");
  return origin !== null && origin !== new URL(request.url).origin && !allowed.includes(origin);
}

export async function serveMcp(call: McpRequest): Promise<Response> {
  const { request, agent, description, context } = call;
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: agent, version: "1" }, { instructions: description });
      addTools(server, call, description);
      addResources(server, call);
      return server;
    },
    // The origin was checked before; CORS is granted to nobody.
    { route: `/mcp/${agent}`, corsOptions: false, allowedOriginHostnames: "*" },
  );
  return handler(request, {}, context);
}
