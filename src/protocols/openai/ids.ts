/**
 * Ids of the OpenAI API that say where to go on: they hold the thread, so nothing has to be looked up and no id is
 * kept beside the log. They grant nothing: the thread's owner is checked below (Z4).
 */
import type { AgentName, RunId, ThreadId } from "#shared/ids.ts";
import { isAgentName, isMessageId, isRunId, isThreadId } from "#shared/ids.ts";

/** A minted id is a prefix and 30 digits of hex. Clients keep call ids of at most 64 characters. */
const CALL_ID = /^c_([0-9a-f]{30})_([0-9a-f]{30})$/;
const THREAD_PREFIX = "thr_";
const EVENT_PREFIX = "evt_";

export interface CallPlace {
  readonly thread: ThreadId;
  readonly approvalId: string;
}

/** For threads with a minted id, which those of Chat Completions are. */
export function toCallId({ thread, approvalId }: CallPlace): string {
  return `c_${thread.slice(THREAD_PREFIX.length)}_${approvalId.slice(EVENT_PREFIX.length)}`;
}

export function parseCallId(id: string): CallPlace | null {
  const [, thread, event] = CALL_ID.exec(id) ?? [];
  if (thread === undefined || event === undefined) return null;
  const threadId = `${THREAD_PREFIX}${thread}`;
  return isThreadId(threadId) ? { thread: threadId, approvalId: `${EVENT_PREFIX}${event}` } : null;
}

/** One response: the part of a run of an agent that begins behind `seq`. */
export interface ResponsePlace {
  readonly agent: AgentName;
  readonly thread: ThreadId;
  readonly run: RunId;
  readonly seq: number;
}

export function toResponseId({ agent, thread, run, seq }: ResponsePlace): string {
  return `resp_${agent}.${thread}.${run}.${seq}`;
}

/** What a response was asked with and no event has a place of its own for: it goes into the id of the message that asked. */
export interface AskedWith {
  readonly previous: ResponsePlace | null;
  readonly background: boolean;
}
const MESSAGE_ID = /^oai-([bf])-(\d{1,15})-(\w+)-[0-9a-f]+$/;

/** Null where there is nothing to say; `unique` tells apart two messages that continue the same response. */
export function toMessageId({ previous, background }: AskedWith, unique: string): string | null {
  if (previous === null && !background) return null;
  const { seq = 0, run = "none" } = previous ?? {};
  const id = `oai-${background ? "b" : "f"}-${seq}-${run}-${unique}`;
  return isMessageId(id) ? id : null;
}

/** A response continues one of its own thread. */
export function parseMessageId(
  { agent, thread }: Pick<ResponsePlace, "agent" | "thread">,
  id: string,
): AskedWith {
  const [, kind, seq = "", run = ""] = MESSAGE_ID.exec(id) ?? [];
  const previous = run !== "none" && isRunId(run) ? { agent, thread, run, seq: Number(seq) } : null;
  return { previous, background: kind === "b" };
}

export function parseResponseId(id: string): ResponsePlace | null {
  const [, agent = "", thread = "", run = "", seq = ""] =
    /^resp_([^.]+)\.([^.]+)\.([^.]+)\.(\d{1,15})$/.exec(id) ?? [];
  if (!isAgentName(agent) || !isThreadId(thread) || !isRunId(run)) return null;
  return { agent, thread, run, seq: Number(seq) };
}
