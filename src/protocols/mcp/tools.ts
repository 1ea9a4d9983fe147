/**
 * Tools of an agent's MCP server: ask, start a run, look after it, answer what it asks, list threads.
 *
 * P81 a call is a command of the caller, with its rights and no others. P82 a run outlives its call: `ask` waits for a while
 * and then says where to go on; a call that its client cancels cancels its run.
 */
import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import type { Principal } from "#auth/principal.ts";
import { toCaller } from "#auth/principal.ts";
import type { RateLimits } from "#auth/rate-limits.ts";
import type { ThreadAccess } from "#auth/thread-access.ts";
import type { Directory } from "#ports/directory.ts";
import type { Ids } from "#ports/ids.ts";
import type { Reply, ThreadStub } from "#ports/thread-gateway.ts";
import { openTurn, type TurnItem } from "#protocols/common/turn.ts";
import { failure } from "#protocols/rest/errors.ts";
import { trusted, type AgentName, type ThreadId } from "#shared/ids.ts";
import type { Json } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { toRunOutput, toRunResult } from "./encode.ts";
import { mayStart, requireScopes } from "./access.ts";
import { toErrorResult } from "./errors.ts";
import {
  AnswerInput,
  AskInput,
  ListInput,
  RunInput,
  RunOutput,
  ThreadsOutput,
  toThreadId,
} from "./wire.ts";

export interface McpCall {
  readonly threads: ThreadAccess;
  readonly directory: Directory;
  readonly ids: Ids;
  readonly agent: AgentName;
  readonly principal: Principal;
  readonly limits: RateLimits;
}
interface Started {
  readonly thread: ThreadId;
  readonly run: string;
  readonly seq: number;
}

/** Clients give a call up after a minute; what is not done by then is asked for again. */
const ASK_WAIT_MS = 45_000;

export function addTools(server: McpServer, call: McpCall, description: string): void {
  server.registerTool(
    "ask",
    {
      description: `${description} Answers when it is done, or says where to go on.`,
      inputSchema: AskInput,
      outputSchema: RunOutput,
    },
    async (input, context) =>
      answer(await start(call, input), (run) => waitFor(call, run, context)),
  );
  server.registerTool(
    "start_run",
    {
      description: "Begins a run and answers at once. Its result comes with run_result.",
      inputSchema: AskInput,
      outputSchema: RunOutput,
    },
    async (input) =>
      answer(await start(call, input), ({ thread, run }) => report(call, { thread, run })),
  );
  server.registerTool(
    "run_status",
    {
      description: "How a run stands: its status, and what it waits for.",
      inputSchema: RunInput,
      outputSchema: RunOutput,
      annotations: { readOnlyHint: true },
    },
    (input) => report(call, input),
  );
  server.registerTool(
    "run_result",
    {
      description: "Waits for the end of a run and answers with its result.",
      inputSchema: RunInput,
      outputSchema: RunOutput,
      annotations: { readOnlyHint: true },
    },
    (input, context) => result(call, input, context),
  );
  addOthers(server, call);
}

function addOthers(server: McpServer, call: McpCall): void {
  server.registerTool(
    "answer",
    {
      description: "Decides what a run waits for: approve or deny a call, or answer a question.",
      inputSchema: AnswerInput,
      outputSchema: RunOutput,
    },
    (input) => decide(call, input),
  );
  server.registerTool(
    "list_threads",
    {
      description: "Your threads of this agent, newest first.",
      inputSchema: ListInput,
      outputSchema: ThreadsOutput,
      annotations: { readOnlyHint: true },
    },
    async ({ limit }) => listThreads(call, limit),
  );
}

async function answer<T>(
  reply: Reply<T>,
  serve: (value: T) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  return reply.ok ? serve(reply.value) : toErrorResult(reply.error);
}

async function start(
  call: McpCall,
  input: { readonly message: string; readonly thread?: string | undefined },
): Promise<Reply<Started>> {
  const { threads, ids, agent, principal } = call;
  const allowed = mayStart(call);
  if (!allowed.ok) return allowed;
  const thread = toThreadId(input.thread ?? ids.next("thr"));
  if (thread === null) return err(failure("not_found"));
  const message = {
    text: input.message,
    delivery: "queue",
    output: null,
    messageId: null,
  } as const;
  const sent = await threads.send(
    toCaller(principal),
    { agent, thread },
    { message, idempotencyKey: null },
  );
  if (!sent.ok) return sent;
  return ok({ thread, run: sent.value.runId ?? "", seq: sent.value.seq - 1 });
}

/** A client that cancels its call wants the work no more. */
async function waitFor(
  call: McpCall,
  run: Started,
  context: ServerContext,
): Promise<CallToolResult> {
  const caller = toCaller(call.principal);
  const { signal } = context.mcpReq;
  const cancel = (): void => {
    void stubOf(call, run.thread).cancel(caller, run.run, "the MCP client cancelled its call");
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await follow(call, run, context);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

async function follow(
  call: McpCall,
  run: Started,
  context: ServerContext,
): Promise<CallToolResult> {
  const caller = toCaller(call.principal);
  const from = { seq: run.seq, attempt: 0, offset: 0 };
  const options = { from, runId: run.run, deltas: true };
  const frames = await stubOf(call, run.thread).stream(caller, options);
  if (!frames.ok) return toErrorResult(frames.error);
  const turn = openTurn(frames.value, { runId: run.run, from, follow: true, whole: true });
  const timer = setTimeout(() => void turn.close(), ASK_WAIT_MS);
  const left = (): void => void turn.close();
  context.mcpReq.signal.addEventListener("abort", left, { once: true });
  try {
    await tellProgress(turn.items, context);
  } finally {
    clearTimeout(timer);
    context.mcpReq.signal.removeEventListener("abort", left);
  }
  return report(call, run);
}

/** One notification a step, with what the agent is at: clients that asked for none get none. */
async function tellProgress(
  items: AsyncIterable<TurnItem>,
  { mcpReq }: ServerContext,
): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  let progress = 0;
  for await (const item of items) {
    if (item.type === "end") return;
    const message = toProgress(item);
    if (message === null || progressToken === undefined) continue;
    progress += 1;
    await mcpReq.notify({
      method: "notifications/progress",
      params: { progressToken, progress, message },
    });
  }
}

function toProgress(item: TurnItem): string | null {
  if (item.type === "answered") {
    const calls = (item.answer?.parts ?? []).flatMap((part) =>
      part.type === "call" ? [part.name] : [],
    );
    return calls.length === 0 ? null : `step ${item.step}: ${calls.join(", ")}`;
  }
  return null;
}

/** Read from where the run began: what lies before it may be long, or pruned. */
async function result(
  call: McpCall,
  { thread: text, run }: { readonly thread: string; readonly run: string },
  context: ServerContext,
): Promise<CallToolResult> {
  const thread = toThreadId(text);
  if (thread === null) return toErrorResult(failure("not_found"));
  const allowed = requireScopes(call, ["threads:read"]);
  if (!allowed.ok) return toErrorResult(allowed.error);
  const view = await stubOf(call, thread).run(toCaller(call.principal), run);
  if (!view.ok) return toErrorResult(view.error);
  if (view.value.endedAt !== null) return report(call, { thread, run });
  return follow(call, { thread, run, seq: view.value.startSeq - 1 }, context);
}

async function report(
  call: McpCall,
  { thread: threadText, run }: { readonly thread: string; readonly run: string },
): Promise<CallToolResult> {
  const thread = toThreadId(threadText);
  if (thread === null) return toErrorResult(failure("not_found"));
  const allowed = requireScopes(call, ["threads:read"]);
  if (!allowed.ok) return toErrorResult(allowed.error);
  const caller = toCaller(call.principal);
  const stub = stubOf(call, thread);
  const view = await stub.run(caller, run);
  if (!view.ok) return toErrorResult(view.error);
  const open = await stub.approvals(caller, { state: "open", after: 0, limit: 100 });
  if (!open.ok) return toErrorResult(open.error);
  const own = open.value.items.filter(({ runId }) => runId === run);
  return toRunResult(toRunOutput(thread, view.value, own));
}

async function decide(
  call: McpCall,
  input: {
    thread: string;
    approval: string;
    decision: "approve" | "deny" | "answer";
    answer?: unknown;
    comment?: string | undefined;
  },
): Promise<CallToolResult> {
  const thread = toThreadId(input.thread);
  if (thread === null) return toErrorResult(failure("not_found"));
  const allowed = requireScopes(call, ["threads:read"]);
  if (!allowed.ok) return toErrorResult(allowed.error);
  const decided = await stubOf(call, thread).decide(
    toCaller(call.principal),
    {
      approvalId: input.approval,
      decision: input.decision,
      comment: input.comment ?? null,
      // JSON-RPC brought it, so it is JSON.
      answer: (input.answer ?? null) as Json,
    },
    null,
  );
  if (!decided.ok) return toErrorResult(decided.error);
  return report(call, { thread, run: decided.value.runId });
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

function stubOf({ threads, principal, agent }: McpCall, thread: string): ThreadStub {
  return threads.stub(toCaller(principal), { agent, thread: trusted<ThreadId>(thread) });
}
