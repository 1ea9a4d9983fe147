/** GoldenLog: reads an exported log as the product would, without a database: what old files say must stay readable. */
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import { THREAD_CATALOGUE } from "#kernel/event-upcast.ts";
import type { EventHeader, EventLog } from "#ports/event-log.ts";
import type { Json } from "#shared/json.ts";

interface ExportLine {
  readonly seq: number;
  readonly header: string;
  readonly hash: string;
  readonly payload: string | null;
}

export type ReadableLog = Pick<EventLog<ThreadEvents>, "get" | "read">;

export function readGoldenLog(
  text: string,
): ReadableLog & { readonly events: readonly ThreadEvent[] } {
  const events = text
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => toEvent(JSON.parse(line) as ExportLine));
  return {
    events,
    get: (seq) => events[seq - 1] ?? null,
    read: ({ from = 1, to = events.length, limit = 500, reverse = false } = {}) => {
      const range = events.slice(from - 1, to);
      return (reverse ? range.toReversed() : range).slice(0, limit);
    },
  };
}

function toEvent(line: ExportLine): ThreadEvent {
  const header = JSON.parse(line.header) as EventHeader;
  const type = header.type as keyof ThreadEvents;
  const stored =
    line.payload === null
      ? null
      : (JSON.parse(Buffer.from(line.payload, "base64").toString("utf8")) as Json);
  const current = THREAD_CATALOGUE.versions[type];
  const payload =
    stored === null || header.version === current
      ? stored
      : THREAD_CATALOGUE.upcast(type, header.version, stored);
  // The catalogue names every type of the union, and the payload is what was stored for it.
  return { type, header, hash: line.hash, payload } as ThreadEvent;
}
