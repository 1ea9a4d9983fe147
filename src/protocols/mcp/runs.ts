/**
 * Runs of MCP calls: begin one, follow it to its end or to what waits for the client, and say how it stands.
 *
 * P81 each command is the caller's, with its rights. P82 a run outlives its call. P102 what waits is asked of the client where
 * it can be asked, and the call goes on with the answer.
 */
import type {
  CallToolResult,
  InputRequiredResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import { inputRequired, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { toCaller } from "#auth/principal.ts";
import type { Reply, RunExtras } from "#ports/thread-gateway.ts";
import { failure } from "#protocols/rest/errors.ts";
import { isJsonObject } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { mayStart, requireScopes } from "./access.ts";
import { toAsks, toInputRequests, toProgramAsks, type Ask } from "./asking.ts";
import { abilitiesOf, idsOf, stubOf, type McpCall } from "./call.ts";
import { toErrorResult } from "./errors.ts";
import { follow, toFollower } from "./follow.ts";
import { decideAll, openApprovals, stand, type Standing, type Started } from "./standing.ts";
import { toThreadId } from "./wire.ts";

/** A run that is served to the call that began it, or came back to it. */
export interface Serving {
  readonly call: McpCall;
  readonly started: Started;
  readonly context: ServerContext;
}
/** What a call answers when its run has come as far as this call waits for it. */
export type Render = (standing: Standing) => Promise<CallToolResult> | CallToolResult;
export type CallResult = CallToolResult | InputRequiredResult;

const UNTITLED = { title: null, idempotencyKey: null };

export interface Beginning {
  readonly text: string;
  readonly thread: string | undefined;
  readonly call: NonNullable<RunExtras["call"]> | null;
}

export async function begin(
  call: McpCall,
  { text, thread: named, call: planned }: Beginning,
  requestId: string | number,
): Promise<Reply<Started>> {
  const { threads, agent, principal, older } = call;
  const allowed = mayStart(call);
  if (!allowed.ok) return allowed;
  const minted = idsOf(call, requestId);
  const thread = toThreadId(named ?? minted.thread);
  if (thread === null) return err(failure("not_found"));
  if (older !== null) {
    older.position.tool = planned?.name ?? null;
    older.position.thread = thread;
    older.position.message = minted.message;
  }
  const message = {
    text,
    delivery: "queue",
    output: null,
    messageId: minted.message,
    ...(planned === null
      ? {}
      : { extras: { tools: [], instructions: null, history: null, call: planned } }),
  } as const;
  const caller = toCaller(principal);
  // A thread of its own is known to be missing, unless its client repeats itself.
  if (named === undefined) {
    const created = await threads.create(caller, { agent, thread }, UNTITLED);
    if (!created.ok && created.error.code !== "conflict") return created;
  }
  const sent = await threads.send(
    caller,
    { agent, thread },
    { message, idempotencyKey: minted.message },
  );
  if (!sent.ok) return sent;
  return ok({ thread, run: sent.value.runId ?? "", seq: sent.value.seq - 1 });
}

/**
 * The run of an earlier round, as its `requestState` names it: no secret and no right, so nothing is signed. Its thread judges
 * whether the caller may, and a state that was changed names nothing.
 */
export async function readState(call: McpCall, state: string): Promise<Started> {
  const [version, threadText = "", run = "", round = "", ...rest] = state.split("~");
  const thread = toThreadId(threadText);
  const fits = version === "1" && /^\d+$/.test(round) && rest.length === 0;
  if (!fits || thread === null) throw badState();
  const allowed = requireScopes(call, ["threads:write", "threads:read"]);
  const view = allowed.ok ? await stubOf(call, thread).run(toCaller(call.principal), run) : allowed;
  if (!view.ok) throw badState();
  return { thread, run, seq: view.value.startSeq - 1 };
}

/** Null in the first round. */
export function resumed({ mcpReq }: ServerContext): Started | null {
  return mcpReq.requestState<Started>() ?? null;
}

function badState(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState");
}

/** Follows the run as far as this call can, asking its client on the way. */
export async function serveRun(serving: Serving, render: Render): Promise<CallResult> {
  const { call, started, context } = serving;
  const answered = await applyResponses(serving);
  if (!answered.ok) return toErrorResult(answered.error);
  return cancellable(serving, async () => {
    const end = await follow(call, started, toFollower(context));
    if (!end.ok) return toErrorResult(end.error);
    const standing = await stand(call, started);
    if (!standing.ok) return toErrorResult(standing.error);
    const { open, view } = standing.value;
    if (call.older !== null || view.endedAt !== null) return render(standing.value);
    const asks = toAsks(open, abilitiesOf(call, context)) ?? toProgramAsks(open);
    return asks === null ? render(standing.value) : toInputRequired(started, asks);
  });
}

function toInputRequired({ thread, run }: Started, asks: readonly Ask[]): InputRequiredResult {
  const round = Math.max(...asks.map(({ approval }) => approval.seq));
  return inputRequired({
    // The requests are of the shapes that the revision defines (asking.ts).
    inputRequests: toInputRequests(asks) as never,
    requestState: `1~${thread}~${run}~${round}`,
  });
}

/** Answers that a client brought for what waits. What does not fit is asked again. */
export async function applyResponses({
  call,
  started: { thread, run },
  context: { mcpReq },
}: Serving): Promise<Reply<null>> {
  const responses = mcpReq.inputResponses;
  if (!isJsonObject(responses) || mcpReq.requestState() === undefined) return ok(null);
  const open = await openApprovals(call, { thread, run });
  if (!open.ok) return open;
  return decideAll(call, thread, { open: open.value, responses });
}

/** A client that cancels its call wants the work no more. */
async function cancellable<T>(
  { call, started: { thread, run }, context }: Serving,
  work: () => Promise<T>,
): Promise<T> {
  const { signal } = context.mcpReq;
  const cancel = (): void => {
    const caller = toCaller(call.principal);
    void stubOf(call, thread).cancel(caller, run, "the MCP client cancelled its call");
  };
  // The end of an older client's stream is no cancellation; it comes back by `Last-Event-ID`.
  if (call.older === null) signal.addEventListener("abort", cancel, { once: true });
  try {
    return await work();
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
