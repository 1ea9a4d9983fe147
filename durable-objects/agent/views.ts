/**
 * Views: what a reader of a thread is shown, computed from stored events.
 *
 * Owns no state. An erased payload shows as `null` content, never as an error, so that a lawful erasure breaks no page.
 */
import type { EventView, MessageView, Page, PageRequest } from "#ports/thread-gateway.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { AnswerPart, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { Membership } from "#runner/branch-history.ts";
import { takePage } from "./pages.ts";
import type { Json } from "#shared/json.ts";

function toEventView(event: ThreadEvent): EventView {
  return { header: event.header, hash: event.hash, payload: event.payload as Json };
}

export function pageEvents(log: EventLog<ThreadEvents>, page: PageRequest): Page<EventView> {
  return takePage(
    { head: log.head().seq, page },
    {
      read: (from, limit) => log.read({ from, limit }),
      seq: (event) => event.header.seq,
      bytes: (event) => event.header.payload.bytes,
      item: toEventView,
    },
  );
}

export interface MessageSource {
  readonly log: EventLog<ThreadEvents>;
  /** What of the log is asked for, and what the active branch holds. */
  readonly shown: Membership;
  readonly active: Membership;
}

/** Skips what other branches hold, however much that is. */
export function pageMessages(source: MessageSource, page: PageRequest): Page<MessageView> {
  const { log, shown, active } = source;
  return takePage(
    { head: shown.segments.at(-1)?.to ?? 0, page },
    {
      read(from, limit) {
        const segment = shown.segments.find(({ to }) => to >= from);
        if (segment === undefined) return [];
        return log.read({ from: Math.max(from, segment.from), to: segment.to, limit });
      },
      seq: (event) => event.header.seq,
      bytes: (event) => event.header.payload.bytes,
      item(event) {
        const { seq } = event.header;
        if (shown.without.has(seq)) return null;
        const branch = shown.segments.find(({ from, to }) => from <= seq && seq <= to)?.branch;
        return branch === undefined
          ? null
          : toMessageView(event, { branch, superseded: !holds(active, seq) });
      },
    },
  );
}

function holds({ segments, without }: Membership, seq: number): boolean {
  return !without.has(seq) && segments.some(({ from, to }) => from <= seq && seq <= to);
}

/** Where a message stands among the branches. */
type Standing = Pick<MessageView, "branch" | "superseded">;

function toMessageView(event: ThreadEvent, standing: Standing): MessageView | null {
  const { seq, run, at, id, call } = event.header;
  const base = { seq, runId: run, at, ...standing };
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
        // Plain JSON by contract; interfaces merely lack the index signature that `Json` asks for.
        content:
          event.payload === null
            ? null
            : ({ callId: call, ...event.payload.result } as unknown as Json),
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
