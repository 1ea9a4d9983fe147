/**
 * Operations of A2A on tasks, whatever the binding: commands and events of the thread that the task is a run of.
 *
 * P90 a task is a run and a context is a thread. P92 a message's id is its key. P95 a stream that a message opened ends where
 * the task ends or waits for input; a subscription ends where the task ends.
 */

import { toCaller } from "#auth/principal.ts";

import type { ThreadPlace } from "#auth/thread-access.ts";

import type { Reply, RunView, ThreadStub } from "#ports/thread-gateway.ts";
import { openSubscription, type OpenTurn, type SubscriptionItem } from "#protocols/common/turn.ts";
import { rateLimited } from "#protocols/rest/errors.ts";
import { isMessageId, isThreadId, trusted, type RunId, type ThreadId } from "#shared/ids.ts";

import { canonicalJson, utf8 } from "#shared/json.ts";
import { err, ok } from "#shared/result.ts";
import { planAnswer, toText, toUploads, type Given } from "./decode.ts";
import { a2aError, invalidField, toA2aError, type A2aError } from "./errors.ts";
import { findTask, requireScopes, toFileUrl, type A2aCall, type Served } from "./call.ts";
import { checkPush, putPush } from "./push.ts";
import { type TaskPlace } from "./ids.ts";
import { TaskWriter } from "./task-writer.ts";
import type { InMessage, Message, SendRequest, StreamResponse, Task, TaskRequest } from "./wire.ts";

export type Updates = AsyncGenerator<StreamResponse | A2aError, void, undefined>;
export interface OpenUpdates {
  readonly updates: Updates;
  close(): Promise<void>;
}

/** A cancellation settles within a second; what takes longer is told as it stands. */
const CANCEL_WAIT_MS = 5_000;
const ENDED: ReadonlySet<RunView["status"]> = new Set(["completed", "failed", "cancelled"]);

export async function sendMessage(
  call: A2aCall,
  request: SendRequest,
): Served<{ readonly task: Task } | { readonly message: Message }> {
  const { returnImmediately = false, historyLength } = request.configuration ?? {};
  const place = await take(call, request);
  if (!place.ok) return place;
  const read = await readUntil(call, place.value, {
    until: returnImmediately ? "now" : "settled",
  });
  if (!read.ok) return read;
  const mayReply = call.replies === "message" && !returnImmediately;
  const reply = mayReply && request.message.taskId === undefined ? read.value.reply() : null;
  return ok(reply === null ? { task: read.value.task(historyLength ?? null) } : { message: reply });
}

export async function streamMessage(call: A2aCall, request: SendRequest): Served<OpenUpdates> {
  const place = await take(call, request);
  return place.ok ? openUpdates(call, place.value, { endAtWait: true }) : place;
}

/** Refused before a stream is opened: an error is an answer, not a frame. */
export async function subscribe(call: A2aCall, { id }: TaskRequest): Served<OpenUpdates> {
  const found = await findTask(call, id, "threads:read");
  if (!found.ok) return found;
  if (ENDED.has(found.value.view.status))
    return err(a2aError("UNSUPPORTED_OPERATION", "The task has ended; get it instead"));
  return openUpdates(call, found.value.place, { endAtWait: false });
}

export async function getTask(call: A2aCall, { id, historyLength }: TaskRequest): Served<Task> {
  const found = await findTask(call, id, "threads:read");
  if (!found.ok) return found;
  const read = await readUntil(call, found.value.place, { until: "now" });
  return read.ok ? ok(read.value.task(historyLength ?? null)) : read;
}

export async function cancelTask(call: A2aCall, { id }: TaskRequest): Served<Task> {
  const found = await findTask(call, id, "threads:write");
  if (!found.ok) return found;
  const { place, stub } = found.value;
  const caller = toCaller(call.principal);
  const cancelled = await stub.cancel(caller, place.run, "cancelled by the A2A client");
  if (!cancelled.ok) return err(toA2aError(cancelled.error));
  const read = await readUntil(call, place, { until: "ended", waitMs: CANCEL_WAIT_MS });
  return read.ok ? ok(read.value.task(null)) : read;
}

/** Takes the message, and who is to be told of its task. */
async function take(call: A2aCall, request: SendRequest): Served<TaskPlace> {
  const config = request.configuration?.taskPushNotificationConfig;
  const allowed = checkPush(call, config);
  if (!allowed.ok) return allowed;
  const place = await carryOut(call, request);
  if (!place.ok || config === undefined) return place;
  const isNew = request.message.taskId === undefined;
  const put = await putPush(call, place.value, { config, from: isNew ? "start" : "now" });
  return put.ok ? place : put;
}

/** Takes the message: a new task, or the next message of one that has not ended. */
async function carryOut(call: A2aCall, request: SendRequest): Served<TaskPlace> {
  // Both: its answer is what the thread holds.
  const allowed = requireScopes(call, ["threads:write", "threads:read"]);
  if (!allowed.ok) return allowed;
  const wait = call.deps.limits.take("run", call.principal);
  if (wait !== null) return err(toA2aError(rateLimited(wait)));
  const { message } = request;
  return message.taskId === undefined ? begin(call, message) : goOn(call, message, message.taskId);
}

async function begin(call: A2aCall, message: InMessage): Served<TaskPlace> {
  const text = toText(message);
  if (!text.ok) return text;
  const thread = message.contextId ?? contextOf(call, message);
  if (!isThreadId(thread))
    return err(
      invalidField(
        "message.contextId",
        "1 to 64 of A-Z, a-z, 0-9, _ and -, starting with a letter or digit",
      ),
    );
  return say(call, thread, { message, text: text.value, delivery: "queue" });
}

/** Follows from the message's id, so that a message that is sent again meets the task it made (K2). */
function contextOf({ deps, principal, agent }: A2aCall, { messageId }: InMessage): ThreadId {
  const seed = canonicalJson(["a2a", principal.tenant, principal.id, agent, messageId]);
  return trusted<ThreadId>(`thr_${deps.hasher.sha256(utf8(seed)).slice(0, 30)}`);
}

async function say(
  call: A2aCall,
  thread: ThreadId,
  {
    message,
    text,
    delivery,
  }: {
    readonly message: InMessage;
    readonly text: string;
    readonly delivery: "queue" | "steer";
  },
): Served<TaskPlace> {
  const { deps, principal, agent } = call;
  const place = { agent, thread };
  const stored = await upload(call, place, message);
  if (!stored.ok) return stored;
  const id = message.messageId;
  const sent = await deps.threads.send(toCaller(principal), place, {
    message: { text, delivery, output: null, messageId: isMessageId(id) ? id : null },
    idempotencyKey: keyOf(id),
  });
  if (!sent.ok) return err(toA2aError(sent.error));
  return ok({ ...place, run: trusted<RunId>(sent.value.runId ?? "") });
}

/** Files of the message lie in the workspace before it is heard. */
async function upload(call: A2aCall, place: ThreadPlace, message: InMessage): Served<null> {
  const uploads = toUploads(message);
  if (!uploads.ok) return uploads;
  const allowed = requireScopes(call, uploads.value.length === 0 ? [] : ["files:write"]);
  if (!allowed.ok) return allowed;
  for (const { path, content } of uploads.value) {
    const written = await call.deps.threads.writeFile(toCaller(call.principal), place, {
      path,
      content,
      idempotencyKey: `${keyOf(message.messageId)}:${path}`,
    });
    if (!written.ok) return err(toA2aError(written.error));
  }
  return ok(null);
}

function keyOf(messageId: string): string {
  return `a2a:${messageId}`;
}

async function goOn(call: A2aCall, message: InMessage, taskId: string): Served<TaskPlace> {
  const found = await findTask(call, taskId, "threads:write");
  if (!found.ok) return found;
  const { place, view, stub } = found.value;
  if (message.contextId !== undefined && message.contextId !== place.thread)
    return err(invalidField("message.contextId", "is not the context of this task"));
  const read = await readUntil(call, place, { until: "now" });
  if (!read.ok) return read;
  // The same message again, as a client that retries sends it.
  if (read.value.hasHeard(message.messageId)) return ok(place);
  if (ENDED.has(view.status))
    return err(
      a2aError("UNSUPPORTED_OPERATION", "The task has ended; send the message without taskId"),
    );
  if (view.status === "queued")
    return err(a2aError("UNSUPPORTED_OPERATION", "The task has not begun; send the message later"));
  const plan = planAnswer(message, read.value.waiting);
  if (!plan.ok) return plan;
  if (plan.value.type === "say")
    return say(call, place.thread, { message, text: plan.value.text, delivery: "steer" });
  const waits = new Set(read.value.waiting.map(({ approvalId }) => approvalId));
  if (plan.value.given.some(({ approvalId }) => !waits.has(approvalId)))
    return err(invalidField("message.parts.data.decisions", "names something that does not wait"));
  const decided = await decideAll(call, { stub, message }, plan.value.given);
  return decided.ok ? ok(place) : err(toA2aError(decided.error));
}

async function decideAll(
  { principal }: A2aCall,
  { stub, message }: { readonly stub: ThreadStub; readonly message: InMessage },
  given: readonly Given[],
): Promise<Reply<null>> {
  const messageId = isMessageId(message.messageId) ? message.messageId : null;
  for (const one of given) {
    const key = `${keyOf(message.messageId)}:${one.approvalId}`;
    const decided = await stub.decide(toCaller(principal), { ...one, messageId }, key);
    if (!decided.ok) return decided;
  }
  return ok(null);
}

/** The task as it stands, or as it stands where it ends or waits for input. */
async function readUntil(
  call: A2aCall,
  place: TaskPlace,
  { until, waitMs }: { readonly until: "now" | "settled" | "ended"; readonly waitMs?: number },
): Served<TaskWriter> {
  const opened = await open(call, place);
  if (!opened.ok) return opened;
  const { items, close, writer } = opened.value;
  const timer = waitMs === undefined ? undefined : setTimeout(() => void close(), waitMs);
  try {
    let caughtUp = false;
    for await (const item of items) {
      const isBroken = item.type === "end" && item.end.type === "broken";
      // A wait that was ended here has told enough.
      if (isBroken) return caughtUp && waitMs !== undefined ? ok(writer) : err(BROKEN);
      writer.read(item);
      caughtUp ||= item.type === "caught_up";
      const isWaiting = writer.state === "TASK_STATE_INPUT_REQUIRED";
      if (caughtUp && (until === "now" || (until === "settled" && isWaiting))) break;
    }
    return ok(writer);
  } finally {
    clearTimeout(timer);
    await close();
  }
}

async function openUpdates(
  call: A2aCall,
  place: TaskPlace,
  rule: { readonly endAtWait: boolean },
): Served<OpenUpdates> {
  const opened = await open(call, place);
  if (!opened.ok) return opened;
  const { items, close, writer } = opened.value;
  return ok({ updates: tell({ items, close, writer }, rule), close });
}

async function* tell(
  { items, close, writer }: OpenTask,
  { endAtWait }: { readonly endAtWait: boolean },
): Updates {
  try {
    let caughtUp = false;
    for await (const item of items) {
      if (item.type === "end" && item.end.type === "broken") {
        yield BROKEN;
        return;
      }
      yield* writer.read(item);
      caughtUp ||= item.type === "caught_up";
      if (caughtUp && endAtWait && writer.state === "TASK_STATE_INPUT_REQUIRED") return;
    }
  } finally {
    await close();
  }
}

interface OpenTask extends OpenTurn<SubscriptionItem> {
  readonly writer: TaskWriter;
}

/** From the run's own beginning: what lies before may be long, or pruned. */
async function open({ deps, principal, origin }: A2aCall, place: TaskPlace): Served<OpenTask> {
  const caller = toCaller(principal);
  const stub = deps.threads.stub(caller, place);
  const view = await stub.run(caller, place.run);
  if (!view.ok) return err(toA2aError(view.error));
  const from = { seq: view.value.startSeq - 1, attempt: 0, offset: 0 };
  const frames = await stub.stream(caller, { from, runId: place.run, deltas: true });
  if (!frames.ok) return err(toA2aError(frames.error));
  const fileUrl = toFileUrl(origin, place);
  const turn = openSubscription(frames.value, { runId: place.run, from });
  return ok({ ...turn, writer: new TaskWriter({ place, fileUrl }) });
}

const BROKEN: A2aError = {
  ...a2aError("INTERNAL", "The stream was cut off; the task goes on. Subscribe to it again"),
  status: "UNAVAILABLE",
  http: 503,
};
