/** How the run of a call stands, what it waits for, and the answers that a client gave to that. */
import { toCaller } from "#auth/principal.ts";
import type { ApprovalView, Reply, RunView } from "#ports/thread-gateway.ts";
import type { ThreadId } from "#shared/ids.ts";
import type { Json } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import { toAsks, toDecision } from "./asking.ts";
import { stubOf, type McpCall } from "./call.ts";

export interface Started {
  readonly thread: ThreadId;
  readonly run: string;
  /** Before the run's input. */
  readonly seq: number;
}
export interface Standing extends Started {
  readonly view: RunView;
  readonly open: readonly ApprovalView[];
}
export async function decideAll(
  call: McpCall,
  thread: string,
  {
    open,
    responses,
  }: { open: readonly ApprovalView[]; responses: { readonly [key: string]: Json } },
): Promise<Reply<null>> {
  const asks = toAsks(open, { elicitation: true, sampling: true, roots: true, tasks: true }) ?? [];
  for (const ask of asks) {
    const response = responses[ask.key];
    const decision = response === undefined ? null : toDecision(ask, response);
    if (decision === null) continue;
    const decided = await stubOf(call, thread).decide(toCaller(call.principal), decision, null);
    if (!decided.ok && decided.error.code !== "approval_answer_invalid") return decided;
  }
  return ok(null);
}

export async function openApprovals(
  call: McpCall,
  { thread, run }: { readonly thread: string; readonly run: string },
): Promise<Reply<readonly ApprovalView[]>> {
  const page = { state: "open", after: 0, limit: 100 } as const;
  const open = await stubOf(call, thread).approvals(toCaller(call.principal), page);
  return open.ok ? ok(open.value.items.filter(({ runId }) => runId === run)) : open;
}

export async function stand(call: McpCall, started: Started): Promise<Reply<Standing>> {
  const [view, open] = await Promise.all([
    stubOf(call, started.thread).run(toCaller(call.principal), started.run),
    openApprovals(call, started),
  ]);
  if (!view.ok) return view;
  return open.ok ? ok({ ...started, view: view.value, open: open.value }) : open;
}
