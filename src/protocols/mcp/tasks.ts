/**
 * Tasks: a call whose client polls. A task is a run, so it is durable before its id is given out, survives every restart, and
 * nothing but its thread says who may see it (P104).
 *
 * Both vocabularies: the Tasks extension of revision 2026-07-28, and the `tasks` of revision 2025-11-25.
 */
import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { toCaller } from "#auth/principal.ts";
import type { ExportedTool } from "#ports/agent-exports.ts";
import { isJsonObject, type JsonObject } from "#shared/json.ts";
import { requireScopes } from "./access.ts";
import { toAsk, toInputRequests } from "./asking.ts";
import { abilitiesOf, stubOf, TASKS_EXTENSION, type McpCall } from "./call.ts";
import { toRunOutput, toRunResult } from "./encode.ts";
import { renderTool } from "./render.ts";
import { follow, toFollower } from "./follow.ts";
import { decideAll, stand, type Standing, type Started } from "./standing.ts";
import { toThreadId } from "./wire.ts";

const POLL_MS = 1_000;
const TaskParams = z.looseObject({ taskId: z.string().min(1).max(256) });
const ListParams = z.looseObject({ cursor: z.string().max(256).optional() });

/** What of an exported tool, or of `ask`, decides whether a call of it is a task. */
export type Taskable = Pick<ExportedTool, "tasks">;

export function wantsTask(call: McpCall, { tasks }: Taskable, context: ServerContext): boolean {
  if (tasks === "forbidden") return false;
  return call.older === null ? abilitiesOf(call, context).tasks : call.older.asTask;
}

/** `name` of the exported tool; null for a run of the conversation. */
export async function serveTask(
  call: McpCall,
  started: Started,
  name: string | null,
): Promise<CallToolResult> {
  const standing = await stand(call, started);
  if (!standing.ok) throw new ProtocolError(ProtocolErrorCode.InternalError, "The run is gone.");
  const task = toTask(call, standing.value, toTaskId(started, name));
  // A result of the other family than `CallToolResult`: the revisions say so by its members.
  const result = call.older === null ? { resultType: "task", ...task } : { task, content: [] };
  return result as unknown as CallToolResult;
}

export function addTasks(server: McpServer, call: McpCall): void {
  const { server: low } = server;
  low.setRequestHandler("tasks/get", { params: TaskParams }, async ({ taskId }, context) => {
    requireTasks(call, context);
    const { standing, name } = await findTask(call, taskId);
    const task = toTask(call, standing, taskId);
    return call.older === null
      ? { ...task, ...(await toDetail(call, standing, name)) }
      : { ...task };
  });
  low.setRequestHandler("tasks/cancel", { params: TaskParams }, async ({ taskId }, context) => {
    requireTasks(call, context);
    const { standing } = await findTask(call, taskId);
    const { thread, run } = standing;
    if (standing.view.endedAt === null)
      await stubOf(call, thread).cancel(
        toCaller(call.principal),
        run,
        "the MCP client cancelled it",
      );
    else if (call.older !== null)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "The task has ended.");
    return call.older === null
      ? {}
      : {
          ...(await findTask(call, taskId).then(({ standing: after }) =>
            toTask(call, after, taskId),
          )),
        };
  });
  if (call.older === null) {
    low.setRequestHandler("tasks/update", { params: TaskParams }, async ({ taskId }, context) => {
      requireTasks(call, context);
      const { standing } = await findTask(call, taskId);
      const { thread, open } = standing;
      const { inputResponses } = context.mcpReq;
      // JSON-RPC brought them, so they are JSON.
      if (isJsonObject(inputResponses))
        await decideAll(call, thread, { open, responses: inputResponses });
      return {};
    });
    return;
  }
  addOlderTasks(server, call);
}

/** What the extension has left out. */
function addOlderTasks({ server: low }: McpServer, call: McpCall): void {
  low.setRequestHandler("tasks/result", { params: TaskParams }, async ({ taskId }, context) => {
    const { standing, name } = await findTask(call, taskId);
    await follow(call, standing, toFollower(context));
    const { standing: ended } = await findTask(call, taskId);
    const result = await render(call, ended, name);
    const related = { "io.modelcontextprotocol/related-task": { taskId } };
    return { ...result, _meta: related };
  });
  low.setRequestHandler("tasks/list", { params: ListParams }, async () => ({
    tasks: await listTasks(call),
  }));
}

/** Of the caller's newest threads of this agent, the newest run of each. */
async function listTasks(call: McpCall): Promise<readonly JsonObject[]> {
  const { directory, principal, agent } = call;
  if (!requireScopes(call, ["threads:read"]).ok) return [];
  const visible =
    principal.kind === "user"
      ? ({ to: "owner", owner: principal.id } as const)
      : ({ to: "tenant" } as const);
  const { tenant } = principal;
  const records = await directory.list({ tenant, visible, agent, after: null, limit: 20 });
  const found = await Promise.all(
    records.map(async ({ thread }) => {
      const page = { after: 0, limit: 100 };
      const runs = await stubOf(call, thread).runs(toCaller(principal), page);
      const view = runs.ok ? runs.value.items.at(-1) : undefined;
      if (view === undefined) return [];
      const standing = { thread, run: view.runId, seq: view.startSeq - 1, view, open: [] };
      return [toTask(call, standing, toTaskId(standing, null))];
    }),
  );
  return found.flat();
}

/** A client that did not declare the extension does not know what a task is. */
function requireTasks(call: McpCall, context: ServerContext): void {
  if (call.older !== null || abilitiesOf(call, context).tasks) return;
  throw missingTasks();
}

export function missingTasks(): MissingRequiredClientCapabilityError {
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
  return new MissingRequiredClientCapabilityError({ requiredCapabilities });
}

function toTaskId({ thread, run }: Started, name: string | null): string {
  return name === null ? `${thread}~${run}` : `${thread}~${run}~${name}`;
}

/** A foreign, a missing and a made-up task are the same nothing. */
async function findTask(
  call: McpCall,
  taskId: string,
): Promise<{ readonly standing: Standing; readonly name: string | null }> {
  const [threadText = "", run = "", name = null, ...rest] = taskId.split("~");
  const thread = toThreadId(threadText);
  const allowed = requireScopes(call, ["threads:read"]);
  if (!allowed.ok) throw new ProtocolError(ProtocolErrorCode.InvalidParams, allowed.error.message);
  const standing =
    thread === null || rest.length > 0 ? null : await stand(call, { thread, run, seq: 0 });
  if (standing === null || !standing.ok)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "There is no such task.");
  return { standing: { ...standing.value, seq: standing.value.view.startSeq - 1 }, name };
}

const STATUS = {
  queued: "working",
  running: "working",
  waiting: "input_required",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
} as const;

function toTask({ older }: McpCall, { view }: Standing, taskId: string): JsonObject {
  const task = {
    taskId,
    status: STATUS[view.status],
    createdAt: new Date(view.createdAt).toISOString(),
    lastUpdatedAt: new Date(view.endedAt ?? view.createdAt).toISOString(),
  };
  // A thread is kept until somebody erases it.
  return older === null
    ? { ...task, ttlMs: null, pollIntervalMs: POLL_MS }
    : { ...task, ttl: null, pollInterval: POLL_MS };
}

async function toDetail(
  call: McpCall,
  standing: Standing,
  name: string | null,
): Promise<JsonObject> {
  const { view, open } = standing;
  if (view.status === "waiting") return { inputRequests: toInputRequests(open.map(toAsk)) };
  if (view.status === "failed") {
    const message = `${view.reason ?? "failed"}: ${view.message ?? ""}`;
    return { error: { code: ProtocolErrorCode.InternalError, message } };
  }
  if (view.status !== "completed") return {};
  // What a tool answers is JSON.
  return { result: (await render(call, standing, name)) as unknown as JsonObject };
}

function render(
  call: McpCall,
  standing: Standing,
  name: string | null,
): Promise<CallToolResult> | CallToolResult {
  const tool = call.exports.tools.find((exported) => exported.name === name);
  if (tool !== undefined) return renderTool(call, tool, standing);
  return toRunResult(toRunOutput(standing.thread, standing.view, standing.open));
}
