/**
 * What a client's frame means for the thread. Every change goes through the thread's own methods, so that a socket can
 * do nothing that REST cannot.
 *
 * P24 of the messages a client sends, only its newest user messages that the thread does not know are taken; all else it
 * holds of the conversation is ignored. P25 a client's result is taken only for a call that asks a person; it never
 * stands in for a tool of the server.
 */
import { isWaitingForHumans } from "#kernel/state.ts";
import type { ClaimedMessage, SocketCommand, SocketProtocol } from "#ports/socket-protocol.ts";
import type { Failure, Reply, ThreadStub } from "#ports/thread-gateway.ts";
import type { Receipt } from "#kernel/commands.ts";
import { exhaustive } from "#shared/exhaustive.ts";
import { isMessageId, isRunId } from "#shared/ids.ts";
import { err, type Result } from "#shared/result.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import type { Connection } from "./connection.ts";
import type { KnownMessages } from "./known-messages.ts";
import { openApprovals, takeSnapshot } from "./snapshot.ts";

/** How a connection is brought its thread. */
export interface Following {
  follow(connection: Connection): void;
  /** Opens the stream of a run from `from`, or from the run's beginning. */
  replay(
    connection: Connection,
    stream: {
      readonly id: string;
      readonly runId: string;
      readonly from: number | null;
      readonly replay: boolean;
    },
  ): void;
}
export interface Session {
  readonly hub: Following;
  readonly connection: Connection;
  readonly host: ThreadHost;
  readonly thread: ThreadStub;
  readonly protocol: SocketProtocol;
  readonly known: KnownMessages;
}
type Chat = Extract<SocketCommand, { readonly type: "chat" }>;

/** Messages that a client wrote while it was offline come in one request. */
const MAX_NEW_MESSAGES = 8;

export async function handleCommand(session: Session, command: SocketCommand): Promise<void> {
  switch (command.type) {
    case "chat":
      return chat(session, command);
    case "clear":
      return clear(session);
    case "cancel":
      return cancel(session, command.streamId);
    case "resume":
      return resume(session, command.probeId);
    case "acknowledge":
      return acknowledge(session, command.streamId);
    case "tool_result":
    case "tool_error":
    case "tool_approval":
      return decide(session, command);
    case "set_state":
      return setState(session, command);
    case "rpc":
      session.connection.send(session.protocol.rpcRefused(command.id, command.method));
      return undefined;
    case "none":
      return undefined;
    default:
      return exhaustive(command);
  }
}

async function chat(session: Session, command: Chat): Promise<void> {
  const { requestId } = command;
  const newest = command.messages.at(-1);
  if (command.trigger === "submit" && newest?.role !== "user") return attach(session, requestId);
  const reply =
    command.trigger === "regenerate"
      ? await regenerate(session, command)
      : await submit(session, command);
  const { connection, protocol } = session;
  if (!reply.ok) connection.send(protocol.requestRefused(requestId, reply.error));
  else answer(session, requestId, reply.value);
}

async function submit(session: Session, { messages, delivery }: Chat): Promise<Reply<Receipt>> {
  const { connection, thread, host, known } = session;
  const { caller } = connection;
  const fresh = newMessages(messages, (id) => known.has(host, id));
  if (!fresh.ok) return fresh;
  let reply: Reply<Receipt> = err(NOTHING_NEW);
  for (const { id, text } of fresh.value) {
    connection.own.add(id);
    reply =
      !known.has(host, id) || known.says(host, id, text)
        ? await thread.send(caller, { text, delivery, output: null, messageId: id }, null)
        : // The same message with another text: AI SDK chats edit in place.
          await thread.edit(caller, {
            messageId: id,
            text,
            newMessageId: null,
            idempotencyKey: null,
          });
    if (!reply.ok) {
      connection.own.delete(id);
      return reply;
    }
  }
  return reply;
}

/** The last message always, and the unknown ones directly before it. */
function newMessages(
  messages: readonly ClaimedMessage[],
  isKnown: (id: string) => boolean,
): Result<readonly ClaimedMessage[], Failure> {
  const last = messages.findLastIndex(({ role, id }) => role !== "user" || isKnown(id));
  const start = Math.min(last + 1, messages.length - 1);
  const fresh = messages.slice(Math.max(0, start));
  if (fresh.length > MAX_NEW_MESSAGES) {
    return err(invalid(`A request may bring ${MAX_NEW_MESSAGES} new messages.`));
  }
  if (!fresh.every(({ id }) => isMessageId(id))) {
    return err(invalid("A message's id is 1 to 64 of A-Z, a-z, 0-9, _ and -."));
  }
  return { ok: true, value: fresh };
}

function regenerate(session: Session, { messages, requestId }: Chat): Promise<Reply<Receipt>> {
  const { connection, thread, host, known } = session;
  const user = messages.findLast(({ role }) => role === "user");
  return thread.regenerate(connection.caller, {
    messageId: user !== undefined && known.has(host, user.id) ? user.id : null,
    idempotencyKey: `socket:${requestId}`,
  });
}

/** The run that answers streams under the client's own id for it. */
function answer(session: Session, requestId: string, receipt: Receipt): void {
  const { connection, hub, host, protocol } = session;
  const { runId, disposition } = receipt;
  const run = runId === null ? null : host.runs.get(runId);
  const isOver = run === null || run.endedAt !== null;
  // Its answer belongs to a stream that is open already, or has been read.
  if (runId === null || disposition === "steered" || (isOver && connection.seq >= receipt.seq)) {
    connection.send(protocol.requestEnded(requestId, "completed"));
    return;
  }
  connection.expect(runId, requestId);
  const { stream } = connection;
  const began = connection.streamRun === runId || (isOver && stream.type === "none");
  if (began) hub.replay(connection, { id: requestId, runId, from: null, replay: false });
  else hub.follow(connection);
}

/** A request without a new message goes on with what is live: after a client's tool, for instance. */
function attach(session: Session, requestId: string): void {
  const { connection, host, hub, protocol } = session;
  const { run } = host.runtime.state;
  if (run === null || isWaitingForHumans(run)) {
    connection.send(protocol.requestRefused(requestId, NOTHING_NEW));
    return;
  }
  const { runId } = run;
  connection.expect(runId, requestId);
  const from = connection.waiting?.runId === runId ? connection.waiting.seq : null;
  hub.replay(connection, { id: requestId, runId, from, replay: false });
}

/** A live run would go on writing into the cleared window, so it is cancelled first. */
async function clear(session: Session): Promise<void> {
  const { connection, host, thread } = session;
  const { run, queue } = host.runtime.state;
  const live = [...queue.map(({ runId }) => runId), ...(run === null ? [] : [run.runId])];
  for (const runId of live) await thread.cancel(connection.caller, runId, "the chat was cleared");
  tellFailure(session, await thread.clearWindow(connection.caller, null));
}

async function cancel(session: Session, streamId: string): Promise<void> {
  const { connection, thread } = session;
  const { stream } = connection;
  const current =
    stream.type === "open" ? stream.stream.id : stream.type === "offered" ? stream.id : "";
  const runId =
    connection.runOf(streamId) ??
    (current === streamId ? connection.streamRun : null) ??
    streamId.split(".")[0] ??
    "";
  if (!isRunId(runId)) return;
  const reply = await thread.cancel(connection.caller, runId, "stopped by the client");
  // It may have ended on its own meanwhile; then it ends once, and not as cancelled.
  if (!reply.ok && reply.error.code !== "run_not_active" && reply.error.code !== "not_found") {
    tellFailure(session, reply);
  }
}

function resume({ connection, host, protocol }: Session, probeId: string | null): void {
  const { run, queue } = host.runtime.state;
  // Between two runs the next one is offered: its stream comes as soon as it starts.
  const runId = run?.runId ?? queue[0]?.runId ?? null;
  if (runId === null || !host.runtime.mode.writable || (run !== null && isWaitingForHumans(run))) {
    connection.send(protocol.nothingToResume(probeId));
    return;
  }
  if (connection.streamRun !== runId) {
    const { waiting } = connection;
    const from = waiting?.runId === runId ? waiting.seq : null;
    const id = from === null ? runId : `${runId}.${from}`;
    connection.stream = { type: "offered", id, runId, from };
  }
  const { stream } = connection;
  if (stream.type === "none") return;
  connection.send(
    protocol.resuming(stream.type === "open" ? stream.stream.id : stream.id, probeId),
  );
}

function acknowledge({ connection, hub, host, protocol }: Session, streamId: string): void {
  const { stream } = connection;
  const id = stream.type === "open" ? stream.stream.id : stream.type === "offered" ? stream.id : "";
  const runId = connection.streamRun;
  if (stream.type !== "none" && runId !== null && id === streamId) {
    hub.replay(connection, { id, runId, from: stream.from, replay: true });
    return;
  }
  // What was offered has ended since: the messages hold it.
  const { views, open } = takeSnapshot(host);
  connection.send(
    protocol.requestEnded(streamId, "completed"),
    protocol.messages(protocol.chatMessages(views, open), false),
  );
}

async function decide(
  session: Session,
  command: Extract<SocketCommand, { readonly callId: string }>,
): Promise<void> {
  const { connection, host, thread, protocol } = session;
  const { callId } = command;
  const asked = openApprovals(host.runtime.state.run).find((open) => open.callId === callId);
  const wanted = command.type === "tool_approval" ? "tool" : "question";
  // A failure of the client may deny either; a result answers only what was asked of a person.
  const fits = asked !== undefined && (command.type === "tool_error" || asked.kind === wanted);
  if (!fits) {
    const { views, open } = takeSnapshot(host);
    connection.send(
      protocol.refusal(invalid("This call does not wait for that, or not any more.")),
      protocol.messages(protocol.chatMessages(views, open), false),
    );
    return;
  }
  const { approvalId } = asked;
  const decision = toDecision(command);
  tellFailure(session, await thread.decide(connection.caller, { approvalId, ...decision }, null));
}

function toDecision(command: Extract<SocketCommand, { readonly callId: string }>) {
  switch (command.type) {
    case "tool_result":
      return { decision: "answer", answer: command.output, comment: null } as const;
    case "tool_error":
      return { decision: "deny", answer: null, comment: command.message } as const;
    case "tool_approval":
      return {
        decision: command.approved ? "approve" : "deny",
        answer: null,
        comment: null,
      } as const;
    default:
      return exhaustive(command);
  }
}

async function setState(
  session: Session,
  { state }: Extract<SocketCommand, { readonly type: "set_state" }>,
): Promise<void> {
  const { connection, thread, host, protocol } = session;
  connection.ownStates += 1;
  const reply = await thread.putState(connection.caller, state, null);
  if (reply.ok) return;
  connection.ownStates -= 1;
  // The client has shown its own value already, so it is told the one that holds.
  connection.send(protocol.stateRefused(reply.error), protocol.state(host.runtime.state.shared));
}

function tellFailure({ connection, protocol }: Session, reply: Reply<unknown>): void {
  if (!reply.ok) connection.send(protocol.refusal(reply.error));
}

const NOTHING_NEW = invalid("There is no new message, and nothing goes on that could be joined.");

function invalid(message: string): Failure {
  return { code: "invalid_request", message, detail: {}, retryable: false };
}
