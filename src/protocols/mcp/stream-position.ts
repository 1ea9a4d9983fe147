/**
 * Event ids of a call's stream, as older clients send them back in `Last-Event-ID`: where in which thread's log the stream
 * was, and of which request (P106). They are no secret and no right: the thread judges who may follow it.
 */
import { isThreadId, type ThreadId } from "#shared/ids.ts";
import type { StreamPosition } from "./call.ts";

export interface ResumePoint {
  readonly tool: string | null;
  readonly progressToken: string | number | null;
  readonly thread: ThreadId;
  readonly message: string;
  readonly seq: number;
  readonly requestId: string | number;
}

const TOOL = "tool.";

/** Null before the call has a run: then there is nothing to come back for. */
export function toEventId(
  { tool, progressToken, thread, message, seq }: StreamPosition,
  requestId: string | number,
): string | null {
  if (thread === null || message === null) return null;
  const kind = tool === null ? "run" : `${TOOL}${tool}`;
  const token = progressToken === null ? [] : [toWord(progressToken)];
  return [kind, thread, message, seq, toWord(requestId), ...token].join("~");
}

export function parseEventId(text: string): ResumePoint | null {
  const [kind = "", thread = "", message = "", seq = "", id = "", token, ...rest] = text.split("~");
  const tool = kind.startsWith(TOOL) ? kind.slice(TOOL.length) : null;
  if ((tool === null && kind !== "run") || rest.length > 0 || !isThreadId(thread)) return null;
  if (!/^\d{1,15}$/.test(seq) || !/^[A-Za-z0-9_-]{1,64}$/.test(message)) return null;
  const requestId = fromWord(id);
  const progressToken = token === undefined ? null : fromWord(token);
  if (requestId === null || (token !== undefined && progressToken === null)) return null;
  return { tool, progressToken, thread, message, seq: Number(seq), requestId };
}

/** A number as it is, a string in hex behind a dot: so that each comes back as what it was. */
function toWord(value: string | number): string {
  return typeof value === "number" ? String(value) : `.${toHex(value)}`;
}

function fromWord(word: string): string | number | null {
  if (word.startsWith(".")) return fromHex(word.slice(1));
  return /^-?\d{1,15}$/.test(word) ? Number(word) : null;
}

function toHex(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

function fromHex(hex: string): string | null {
  if (!/^(?:[0-9a-f]{2})*$/.test(hex)) return null;
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return new TextDecoder().decode(bytes);
}
