/**
 * Following a run for a call: what happens is told on the way, and what waits is asked of an older client in place (P102).
 *
 * An older client's answer comes by a request of its own, to whichever isolate; here it shows as the run going on.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import { toCaller } from "#auth/principal.ts";
import type { ThreadEvents } from "#kernel/events.ts";
import type { ApprovalView, EventView, Reply, StreamCursor } from "#ports/thread-gateway.ts";
import { openTurn, type TurnEnd, type TurnItem } from "#protocols/common/turn.ts";
import type { Json } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import { toAsks } from "./asking.ts";
import { stubOf, type McpCall } from "./call.ts";
import { openApprovals, type Started } from "./standing.ts";

/** Clients give a call up after a minute; what is not done by then is asked for again. */
const ASK_WAIT_MS = 45_000;
/** A person who was asked has this long, and their client keeps the stream open meanwhile. */
const PERSON_WAIT_MS = 300_000;

/** Who is told what happens on the way, and may leave. */
export interface Follower {
  readonly signal: AbortSignal;
  readonly tell: (item: TurnItem) => Promise<void>;
}

export function toFollower(context: ServerContext): Follower {
  return { signal: context.mcpReq.signal, tell: (item) => tell(item, context) };
}

/** Ends with the run, when it waits for people whom this client cannot ask in place, or when the time is over. */
export async function follow(
  call: McpCall,
  started: Started,
  follower: Follower,
): Promise<Reply<TurnEnd>> {
  const { older } = call;
  let waitMs = ASK_WAIT_MS;
  let from: StreamCursor = { seq: started.seq, attempt: 0, offset: 0 };
  for (;;) {
    const turn = await readTurn(call, { ...started, from, waitMs }, follower);
    if (!turn.ok || older === null || turn.value.end.type !== "waiting")
      return turn.ok ? ok(turn.value.end) : turn;
    const open = await openApprovals(call, started);
    if (!open.ok) return open;
    const asks = toAsks(open.value, older.abilities);
    if (asks === null) return ok(turn.value.end);
    for (const { approval, method, params } of asks)
      await older.ask({ id: toAskId(started.thread, approval), method, params });
    waitMs = PERSON_WAIT_MS;
    from = turn.value.cursor;
  }
}

/** The id of a request of ours names what it asks about, so that any server understands the answer. */
function toAskId(thread: string, { approvalId }: ApprovalView): string {
  return `${thread}~${approvalId}`;
}

export function parseAskId(
  id: Json,
): { readonly thread: string; readonly approval: string } | null {
  const [thread = "", approval = "", ...rest] = typeof id === "string" ? id.split("~") : [];
  return thread === "" || approval === "" || rest.length > 0 ? null : { thread, approval };
}

interface Reading extends Started {
  readonly from: StreamCursor;
  readonly waitMs: number;
}

async function readTurn(
  call: McpCall,
  { thread, run, from, waitMs }: Reading,
  follower: Follower,
): Promise<Reply<{ readonly end: TurnEnd; readonly cursor: StreamCursor }>> {
  const options = { from, runId: run, deltas: false };
  const frames = await stubOf(call, thread).stream(toCaller(call.principal), options);
  if (!frames.ok) return frames;
  const turn = openTurn(frames.value, { runId: run, from, follow: true, whole: true });
  const close = (): void => void turn.close();
  const timer = setTimeout(close, waitMs);
  follower.signal.addEventListener("abort", close, { once: true });
  try {
    for await (const item of turn.items) {
      if (item.type === "end") return ok({ end: item.end, cursor: item.cursor });
      if (call.older !== null) call.older.position.seq = item.cursor.seq;
      await follower.tell(item);
    }
    return ok({ end: { type: "broken" }, cursor: from });
  } finally {
    clearTimeout(timer);
    follower.signal.removeEventListener("abort", close);
  }
}

/** What a client that asked for progress is told; clients that asked for none get none. */
async function tell(item: TurnItem, { mcpReq }: ServerContext): Promise<void> {
  const token = mcpReq._meta?.progressToken;
  for (const message of toNotifications(item, token)) {
    if (message.method === "notifications/message")
      await mcpReq.log(message.params.level, message.params.data);
    else await mcpReq.notify({ ...message, params: { ...message.params } });
  }
}

type Told =
  | {
      readonly method: "notifications/progress";
      readonly params: {
        readonly progressToken: string | number;
        readonly progress: number;
        readonly total?: number;
        readonly message?: string;
      };
    }
  | {
      readonly method: "notifications/message";
      readonly params: {
        readonly level: "debug" | "info" | "warning" | "error";
        readonly data: Json;
      };
    };

/** A call's own reports, and otherwise one line a step that calls tools. */
export function toNotifications(
  item: TurnItem,
  progressToken: string | number | undefined,
): readonly Told[] {
  if (item.type === "event" && item.event.header.type === "tool.reported")
    return toReported(item.event, progressToken);
  if (item.type !== "answered" || progressToken === undefined) return [];
  const names = (item.answer?.parts ?? []).flatMap((part) =>
    part.type === "call" ? [part.name] : [],
  );
  if (names.length === 0 || isPlanned(item.answer)) return [];
  const message = `step ${item.step}: ${names.join(", ")}`;
  const params = { progressToken, progress: item.step, message };
  return [{ method: "notifications/progress", params }];
}

/** Calls of a plan report for themselves. */
function isPlanned(answer: ThreadEvents["model.answered"] | null): boolean {
  return answer?.rawFinish === "plan";
}

function toReported(
  { payload }: EventView,
  progressToken: string | number | undefined,
): readonly Told[] {
  // The catalogue names the shape; an erased one is null.
  const report = payload as ThreadEvents["tool.reported"] | null;
  if (report === null) return [];
  if (report.type === "log")
    return [
      { method: "notifications/message", params: { level: report.level, data: report.data } },
    ];
  if (progressToken === undefined) return [];
  const { progress, total, message } = report;
  const params = {
    progressToken,
    progress,
    ...(total === null ? {} : { total }),
    ...(message === null ? {} : { message }),
  };
  return [{ method: "notifications/progress", params }];
}
