/**
 * Views: what a reader of a thread is shown, computed from stored events.
 *
 * Owns no state. An erased payload shows as `null` content, never as an error, so that a lawful erasure breaks no page.
 */
import type { EventView, MessageView, Page, PageRequest } from "#ports/thread-gateway.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { AnswerPart, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { Json } from "#shared/json.ts";

/** Bounds what one page may scan, so that a sparse page costs no more than a dense one. */
const SCAN_LIMIT = 500;

export function toEventView(event: ThreadEvent): EventView {
  return { header: event.header, hash: event.hash, payload: event.payload as Json };
}

export function pageEvents(log: EventLog<ThreadEvents>, page: PageRequest): Page<EventView> {
  const events = log.read({ from: page.after + 1, limit: page.limit });
  const last = events.at(-1);
  const more = last !== undefined && last.header.seq < log.head().seq;
  return { items: events.map(toEventView), next: more ? last.header.seq : null };
}

/** Oldest first. May return fewer than `limit` items with a `next`, where many events are not messages. */
export function pageMessages(log: EventLog<ThreadEvents>, page: PageRequest): Page<MessageView> {
  const items: MessageView[] = [];
  const head = log.head().seq;
  let position = page.after;
  while (position < head && items.length < page.limit) {
    const events = log.read({ from: position + 1, limit: Math.min(SCAN_LIMIT, head - position) });
    if (events.length === 0) break;
    for (const event of events) {
      position = event.header.seq;
      const message = toMessageView(event);
      if (message !== null) items.push(message);
      if (items.length === page.limit) break;
    }
    if (items.length > 0 && position - page.after >= SCAN_LIMIT) break;
  }
  return { items, next: position < head ? position : null };
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
