/**
 * MCP: each agent is a remote MCP server at `/mcp/:agent`, stateless (revision 2026-07-28), with older Streamable HTTP clients
 * on the same endpoint.
 *
 * P80 a page of another origin is refused before its body is read, and so is another host. No server outlives its request, so
 * no client meets another's (P84).
 */
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  type AuthInfo,
} from "@modelcontextprotocol/server";
import { toBounded } from "#protocols/common/bounded-body.ts";
import { isJsonObject } from "#shared/json.ts";
import { toAbilities, TASKS_EXTENSION, type McpCall } from "./call.ts";
import { addExportedTools } from "./exported-tools.ts";
import { serveOlder } from "./older.ts";
import { addPrompts } from "./prompts.ts";
import { addResources } from "./resources.ts";
import { readState } from "./runs.ts";
import type { SessionDeps } from "./session.ts";
import { addTasks, missingTasks } from "./tasks.ts";
import { addTools } from "./tools.ts";

export interface McpRequest {
  readonly call: Omit<McpCall, "older">;
  readonly sessions: SessionDeps;
  readonly request: Request;
  /** Of the agent, for who chooses among tools. */
  readonly description: string;
  /** What an OAuth token allows; undefined for other credentials. */
  readonly authInfo: AuthInfo | undefined;
}

/** Lists follow from the agent's code, and are the same for everybody who may see them. */
const HINTS = { ttlMs: 60_000, cacheScope: "private" } as const;

/** Streams of the protocol's package are written at the pace of the run, whoever reads them. */
export async function serveMcp(request: McpRequest): Promise<Response> {
  const response = await serve(request);
  const { body, headers } = response;
  if (body === null || headers.get("content-type")?.startsWith("text/event-stream") !== true)
    return response;
  return new Response(toBounded(body), { status: response.status, headers });
}

async function serve(request: McpRequest): Promise<Response> {
  const { call, request: http, authInfo, description } = request;
  const createServer = (own: McpCall): McpServer => toServer(own, description);
  const body = http.method === "POST" ? await readJson(http.clone()) : undefined;
  if (http.method !== "POST" || (await isLegacyRequest(http.clone(), body)))
    return serveOlder({ ...request, body, createServer });
  const refused = refuseWithoutTasks(call, body);
  if (refused !== null) return refused;
  const handler = createMcpHandler(() => createServer({ ...call, older: null }), {
    legacy: "reject",
  });
  return handler.fetch(http, {
    ...(body === undefined ? {} : { parsedBody: body }),
    ...(authInfo === undefined ? {} : { authInfo }),
  });
}

function toServer(call: McpCall, instructions: string): McpServer {
  const server = new McpServer(
    { name: call.agent, version: "1" },
    {
      instructions,
      requestState: { verify: (state) => readState(call, state) },
      capabilities: {
        logging: {},
        completions: {},
        // What an agent exports is its code: it changes with a deploy, which ends every stream.
        tools: { listChanged: false },
        prompts: { listChanged: false },
        resources: { listChanged: false, ...(call.older === null ? {} : { subscribe: true }) },
        ...(call.older === null
          ? { extensions: { [TASKS_EXTENSION]: {} } }
          : { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }),
      },
      cacheHints: {
        "tools/list": HINTS,
        "prompts/list": HINTS,
        "resources/list": HINTS,
        "resources/templates/list": HINTS,
      },
    },
  );
  addTools(server, call, instructions);
  addExportedTools(server, call);
  addResources(server, call);
  addPrompts(server, call);
  addTasks(server, call);
  return server;
}

/** Undefined for what is no JSON: the protocol's own parser says so. */
async function readJson(request: Request): Promise<unknown> {
  try {
    return await request.json<unknown>();
  } catch {
    return undefined;
  }
}

/** A tool that is only ever a task, for a client that does not know tasks. */
function refuseWithoutTasks({ exports }: Pick<McpCall, "exports">, body: unknown): Response | null {
  if (!isJsonObject(body) || body["method"] !== "tools/call") return null;
  const { params, id } = body;
  const meta = isJsonObject(params) ? params["_meta"] : null;
  if (!isJsonObject(params) || !isJsonObject(meta)) return null;
  const tool = exports.tools.find(({ name }) => name === params["name"]);
  const { tasks } = toAbilities(meta["io.modelcontextprotocol/clientCapabilities"]);
  if (tool?.tasks !== "required" || tasks) return null;
  const { code, message, data } = missingTasks();
  const error = { code, message, data };
  return Response.json({ jsonrpc: "2.0", error, id: id ?? null }, { status: 400 });
}
