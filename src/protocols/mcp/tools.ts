/**
 * Tools of every agent's MCP server: ask, start a run, look after it, answer what it asks, list threads.
 *
 * P81 a call is a command of the caller, with its rights and no others. P82 a run outlives its call: `ask` waits for a while
 * and then says where to go on.
 */
import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { toCaller } from "#auth/principal.ts";
import type { Reply } from "#ports/thread-gateway.ts";
import { failure } from "#protocols/rest/errors.ts";
import type { Json } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import { requireScopes, requiring } from "./access.ts";
import { stubOf, type McpCall } from "./call.ts";
import { toRunOutput, toRunResult } from "./encode.ts";
import { toErrorResult } from "./errors.ts";
import { begin, resumed, serveRun, type CallResult } from "./runs.ts";
import { stand, type Standing, type Started } from "./standing.ts";
import { serveTask, wantsTask } from "./tasks.ts";
import {
  AnswerInput,
  AskInput,
  ListInput,
  RunInput,
  RunOutput,
  ThreadsOutput,
  toThreadId,
} from "./wire.ts";

const READS = { annotations: { readOnlyHint: true }, scopeChallenge: requiring("threads:read") };
const STARTS = { scopeChallenge: requiring("threads:write", "threads:read") };
const AS_TASK = { tasks: "optional" } as const;

export function addTools(server: McpServer, call: McpCall, description: string): void {
  const asked = server.registerTool(
    "ask",
    {
      description: `${description} Answers when it is done, or says where to go on.`,
      inputSchema: AskInput,
      outputSchema: RunOutput,
      ...STARTS,
    },
    async (input, context) => {
      const started = await beginOrResume(call, input, context);
      if (!started.ok) return toErrorResult(started.error);
      if (wantsTask(call, AS_TASK, context)) return serveTask(call, started.value, null);
      return serveRun({ call, started: started.value, context }, toResult);
    },
  );
  if (call.older !== null) asked.execution = { taskSupport: "optional" };
  server.registerTool(
    "start_run",
    {
      description: "Begins a run and answers at once. Its result comes with run_result.",
      inputSchema: AskInput,
      outputSchema: RunOutput,
      ...STARTS,
    },
    async (input, { mcpReq }) => {
      const started = await begin(call, toBeginning(input), mcpReq.id);
      return started.ok ? report(call, started.value) : toErrorResult(started.error);
    },
  );
  addReaders(server, call);
  addAnswer(server, call);
}

function addReaders(server: McpServer, call: McpCall): void {
  server.registerTool(
    "run_status",
    {
      description: "How a run stands: its status, and what it waits for.",
      inputSchema: RunInput,
      outputSchema: RunOutput,
      ...READS,
    },
    async (input) => {
      const started = await find(call, input);
      return started.ok ? report(call, started.value) : toErrorResult(started.error);
    },
  );
  server.registerTool(
    "run_result",
    {
      description: "Waits for the end of a run and answers with its result.",
      inputSchema: RunInput,
      outputSchema: RunOutput,
      ...READS,
    },
    async (input, context): Promise<CallResult> => {
      const started = await find(call, input);
      if (!started.ok) return toErrorResult(started.error);
      return serveRun({ call, started: started.value, context }, toResult);
    },
  );
  server.registerTool(
    "list_threads",
    {
      description: "Your threads of this agent, newest first.",
      inputSchema: ListInput,
      outputSchema: ThreadsOutput,
      ...READS,
    },
    async ({ limit }) => listThreads(call, limit),
  );
}

function addAnswer(server: McpServer, call: McpCall): void {
  server.registerTool(
    "answer",
    {
      description: "Decides what a run waits for: approve or deny a call, or answer a question.",
      inputSchema: AnswerInput,
      outputSchema: RunOutput,
      scopeChallenge: requiring("threads:read"),
    },
    async ({ thread: text, approval, decision, answer, comment }) => {
      const thread = toThreadId(text);
      if (thread === null) return toErrorResult(failure("not_found"));
      const allowed = requireScopes(call, ["threads:read"]);
      if (!allowed.ok) return toErrorResult(allowed.error);
      const decided = await stubOf(call, thread).decide(
        toCaller(call.principal),
        {
          approvalId: approval,
          decision,
          comment: comment ?? null,
          // JSON-RPC brought it, so it is JSON.
          answer: (answer ?? null) as Json,
        },
        null,
      );
      if (!decided.ok) return toErrorResult(decided.error);
      return report(call, { thread, run: decided.value.runId, seq: 0 });
    },
  );
}

type Asked = { readonly message: string; readonly thread?: string | undefined };

function toBeginning({ message, thread }: Asked) {
  return { text: message, thread, call: null };
}

async function beginOrResume(
  call: McpCall,
  input: Asked,
  context: ServerContext,
): Promise<Reply<Started>> {
  const before = resumed(context);
  return before === null ? begin(call, toBeginning(input), context.mcpReq.id) : ok(before);
}

/** Read from where the run began: what lies before it may be long, or pruned. */
async function find(
  call: McpCall,
  { thread: text, run }: { readonly thread: string; readonly run: string },
): Promise<Reply<Started>> {
  const thread = toThreadId(text);
  if (thread === null) return { ok: false, error: failure("not_found") };
  const allowed = requireScopes(call, ["threads:read"]);
  if (!allowed.ok) return allowed;
  const view = await stubOf(call, thread).run(toCaller(call.principal), run);
  return view.ok ? ok({ thread, run, seq: view.value.startSeq - 1 }) : view;
}

async function report(call: McpCall, started: Started): Promise<CallToolResult> {
  const standing = await stand(call, started);
  return standing.ok ? toResult(standing.value) : toErrorResult(standing.error);
}

function toResult({ thread, view, open }: Standing) {
  return toRunResult(toRunOutput(thread, view, open));
}

async function listThreads(call: McpCall, limit: number): Promise<CallToolResult> {
  const { directory, principal, agent } = call;
  const allowed = requireScopes(call, ["threads:read"]);
  if (!allowed.ok) return toErrorResult(allowed.error);
  const records = await directory.list({
    tenant: principal.tenant,
    visible: principal.kind === "user" ? { to: "owner", owner: principal.id } : { to: "tenant" },
    agent,
    after: null,
    limit,
  });
  const threads = records.map(({ thread, title, updatedAt }) => ({ thread, title, updatedAt }));
  return {
    structuredContent: { threads },
    content: [{ type: "text", text: JSON.stringify(threads) }],
  };
}
