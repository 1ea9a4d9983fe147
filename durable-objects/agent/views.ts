/**
 * Views: what a reader of a thread is shown, computed from stored events.
 *
 * Owns no state. An erased payload shows as `null` content, never as an error, so that a lawful erasure breaks no page.
 */
import type { EventView, MessageView, Page, PageRequest } from "#ports/thread-gateway.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { AnswerPart, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import { takePage } from "./pages.ts";
import type { Json } from "#shared/json.ts";

export function toEventView(event: ThreadEvent): EventView {
  return { header: event.header, hash: event.hash, payload: event.payload as Json };
}

export function pageEvents(log: EventLog<ThreadEvents>, page: PageRequest): Page<EventView> {
  return pageOf(log, page, toEventView);
}

export function pageMessages(log: EventLog<ThreadEvents>, page: PageRequest): Page<MessageView> {
  return pageOf(log, page, toMessageView);
}

function pageOf<T>(
  log: EventLog<ThreadEvents>,
  page: PageRequest,
  item: (event: ThreadEvent) => T | null,
): Page<T> {
  return takePage(
    { head: log.head().seq, page },
    {
      read: (from, limit) => log.read({ from, limit }),
      seq: (event) => event.header.seq,
      bytes: (event) => event.header.payload.bytes,
      item,
    },
  );
}

export function toMessageView(event: ThreadEvent): MessageView | null {
  const { seq, run, at, id, call } = event.header;
  const base = { seq, runId: run, at };
  switch (event.type) {
    case "input.received":
      return {
        ...base,
        messageId: event.payload?.messageId ?? id,
        role: "user",
        content: event.payload === null ? null : [{ type: "text", text: event.payload.text }],
      };
    case "model.answered":
      return {
        ...base,
        messageId: id,
        role: "assistant",
        content: event.payload === null ? null : event.payload.parts.map(toAnswerContent),
      };
    case "tool.finished":
      return {
        ...base,
        messageId: id,
        role: "tool",
        content: event.payload === null ? null : { callId: call, ...event.payload.result },
      };
    case "tool.refused":
      return {
        ...base,
        messageId: id,
        role: "tool",
        content:
          event.payload === null
            ? null
            : {
                callId: call,
                status: "refused",
                code: event.payload.refusal.code,
                output: event.payload.refusal.message,
              },
      };
    default:
      return null;
  }
}

function toAnswerContent(part: AnswerPart): Json {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "reasoning":
      return { type: "reasoning", text: part.text };
    case "call":
      return {
        type: "call",
        callId: part.callId,
        name: part.name,
        args: part.args,
        refusal: part.refusal === null ? null : { ...part.refusal },
      };
  }
}
