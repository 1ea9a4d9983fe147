/**
 * Event ids of a call's stream, as older clients send them back in `Last-Event-ID`: where in which thread's log the stream
 * was, and of which request (P106). They are no secret and no right: the thread judges who may follow it.
 */
import { isThreadId, type ThreadId } from "#shared/ids.ts";
import type { StreamPosition } from "./call.ts";

export interface ResumePoint {
  readonly kind: "run" | "tool";
  readonly thread: ThreadId;
  readonly message: string;
  readonly seq: number;
  readonly requestId: string | number;
}

/** Null before the call has a run: then there is nothing to come back for. */
export function toEventId(
  { kind, thread, message, seq }: StreamPosition,
  requestId: string | number,
): string | null {
  if (thread === null || message === null) return null;
  const id = typeof requestId === "number" ? String(requestId) : `.${toHex(requestId)}`;
  return [kind, thread, message, seq, id].join("~");
}

export function parseEventId(text: string): ResumePoint | null {
  const [kind, thread = "", message = "", seq = "", id = "", ...rest] = text.split("~");
  if ((kind !== "run" && kind !== "tool") || rest.length > 0 || !isThreadId(thread)) return null;
  if (!/^\d{1,15}$/.test(seq) || !/^[A-Za-z0-9_-]{1,64}$/.test(message)) return null;
  const requestId = id.startsWith(".")
    ? fromHex(id.slice(1))
    : /^-?\d{1,15}$/.test(id)
      ? Number(id)
      : null;
  return requestId === null ? null : { kind, thread, message, seq: Number(seq), requestId };
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
