/**
 * Pages: a bounded part of a log. Bounded by bytes as well as by items, because an answer crosses RPC whole and a single
 * event may hold megabytes.
 */
import type { EventLog, RawEvent } from "#ports/event-log.ts";
import type { Page, PageRequest } from "#ports/thread-gateway.ts";

/** Far below the 32 MiB of one RPC message, and below what one request may hold in memory. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Events read at a time, so that large ones are not all in memory before the page is full. */
const SLICE = 8;
/** Bounds what one page may scan, so that a sparse page costs no more than a dense one. */
const MAX_SCANNED = 500;

export interface PageSource<E, T> {
  read(from: number, limit: number): readonly E[];
  seq(event: E): number;
  bytes(event: E): number;
  /** Null for events that are no item of this page. */
  item(event: E): T | null;
}

/** Oldest first. May hold fewer than `limit` items and still have a `next`. */
export function takePage<E, T>(
  { head, page }: { readonly head: number; readonly page: PageRequest },
  source: PageSource<E, T>,
): Page<T> {
  const items: T[] = [];
  let position = page.after;
  let bytes = 0;
  let scanned = 0;
  while (position < head && scanned < MAX_SCANNED) {
    const slice = source.read(position + 1, SLICE);
    if (slice.length === 0) break;
    scanned += slice.length;
    for (const event of slice) {
      const item = source.item(event);
      const size = item === null ? 0 : source.bytes(event);
      const full =
        items.length === page.limit || (items.length > 0 && bytes + size > MAX_PAGE_BYTES);
      if (full) return { items, next: position };
      bytes += size;
      position = source.seq(event);
      if (item !== null) items.push(item);
    }
  }
  return { items, next: position < head ? position : null };
}

/** Stored rows, for an export. */
export function pageRaw(
  log: Pick<EventLog<never>, "head" | "raw">,
  page: PageRequest,
): Page<RawEvent> {
  return takePage(
    { head: log.head().seq, page },
    {
      read: (from, limit) => log.raw({ from, limit }),
      seq: (event) => event.seq,
      bytes: (event) => event.header.length + (event.payload?.byteLength ?? 0),
      item: (event) => event,
    },
  );
}
