/**
 * The agent's own exported tools: each call is a run of its own through the gate, and what its last calls gave is the result
 * (P100). Content other than text is given as it is (P101).
 */
import { fromJsonSchema, type McpServer, type ServerContext } from "@modelcontextprotocol/server";
import type { ExportedTool } from "#ports/agent-exports.ts";
import type { Reply } from "#ports/thread-gateway.ts";
import type { JsonObject } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import { requiredBy, requireScopes, requiring } from "./access.ts";
import type { McpCall } from "./call.ts";
import { toErrorResult } from "./errors.ts";
import { renderTool } from "./render.ts";
import { applyResponses, begin, resumed, serveRun, type Serving } from "./runs.ts";
import { openApprovals, type Started } from "./standing.ts";
import { serveTask, wantsTask } from "./tasks.ts";

export function addExportedTools(server: McpServer, call: McpCall): void {
  for (const tool of call.exports.tools) addExportedTool(server, call, tool);
}

function addExportedTool(server: McpServer, call: McpCall, tool: ExportedTool): void {
  const { name, title, description, inputSchema, outputSchema, readOnly } = tool;
  const registered = server.registerTool(
    name,
    {
      ...(title === null ? {} : { title }),
      description,
      inputSchema: fromJsonSchema<JsonObject>(inputSchema),
      ...(outputSchema === null ? {} : { outputSchema: fromJsonSchema(outputSchema) }),
      annotations: { readOnlyHint: readOnly },
      scopeChallenge: requiring("threads:write", "threads:read", ...tool.scopes),
    },
    async (args, context) => {
      const allowed = requireScopes(call, requiredBy(tool));
      if (!allowed.ok) return toErrorResult(allowed.error);
      const started = await beginOrResume(call, { name, args }, context);
      if (!started.ok) return toErrorResult(started.error);
      const serving = { call, started: started.value, context };
      if (wantsTask(call, tool, context) && (await mayBecomeTask(serving, tool)))
        return serveTask(call, started.value, name);
      if (tool.slow) context.http?.closeSSE?.();
      return serveRun(serving, (standing) => renderTool(call, tool, standing));
    },
  );
  if (call.older !== null) registered.execution = { taskSupport: tool.tasks };
}

async function beginOrResume(
  call: McpCall,
  planned: { readonly name: string; readonly args: JsonObject },
  context: ServerContext,
): Promise<Reply<Started>> {
  const before = resumed(context);
  if (before !== null) return ok(before);
  return begin(call, { text: "", thread: undefined, call: planned }, context.mcpReq.id);
}

/** A tool that asks before its task begins has asked, and has been answered. */
async function mayBecomeTask(serving: Serving, { asksFirst }: ExportedTool): Promise<boolean> {
  if (!asksFirst) return true;
  if (resumed(serving.context) === null) return false;
  await applyResponses(serving);
  const open = await openApprovals(serving.call, serving.started);
  return open.ok && open.value.length === 0;
}
