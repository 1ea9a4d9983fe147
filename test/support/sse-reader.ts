/**
 * SseReader: a client of the event stream as a browser is one: it takes bytes, keeps the last id, and puts the text of
 * an answer together from deltas and discards alone.
 */
import type { EventHeader } from "#ports/event-log.ts";
import type { Json } from "#shared/json.ts";
import type { Api } from "./api.ts";

export interface SseEvent {
  /** Empty for events without one. */
  readonly id: string;
  readonly event: string;
  readonly data: {
    readonly header?: EventHeader;
    readonly payload?: { readonly [key: string]: Json } | null;
    readonly text?: string;
    readonly code?: string;
  };
}
export const TERMINAL: ReadonlySet<string> = new Set([
  "run.completed",
  "run.failed",
  "run.cancelled",
]);

export class SseReader {
  readonly events: SseEvent[] = [];
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #buffer = "";
  ended = false;

  private constructor(response: Response, body: ReadableStream<Uint8Array>) {
    this.response = response;
    this.#reader = body.getReader();
  }

  static async open(api: Api, path: string, lastId?: string): Promise<SseReader> {
    const response = await api.fetch("GET", path, {
      headers: {
        accept: "text/event-stream",
        ...(lastId === undefined ? {} : { "last-event-id": lastId }),
      },
    });
    if (response.status !== 200 || response.body === null)
      throw new Error(`${response.status}: ${await response.text()}`);
    return new SseReader(response, response.body);
  }

  get lastId(): string {
    return this.events.findLast((event) => event.id !== "")?.id ?? "0.0.0";
  }

  /** Reads on until an event that has come fits; throws when the stream ends before. */
  async until(fits: (reader: this) => boolean): Promise<void> {
    while (!fits(this)) if (!(await this.#read())) throw new Error("the stream ended before");
  }

  /** Reads to the end. A connection that breaks ends it too: what was lost shows in `events`. */
  async toEnd(): Promise<readonly SseEvent[]> {
    while (await this.#read());
    return this.events;
  }

  async drop(): Promise<void> {
    await this.#reader.cancel("dropped");
  }

  async #read(): Promise<boolean> {
    const { done, value } = await this.#reader
      .read()
      .catch(() => ({ done: true, value: undefined }));
    if (done || value === undefined) {
      this.ended = true;
      return false;
    }
    this.#buffer += this.#decoder.decode(value, { stream: true });
    const blocks = this.#buffer.split("\n\n");
    this.#buffer = blocks.pop() ?? "";
    for (const block of blocks) this.#take(block);
    return true;
  }

  #take(block: string): void {
    const field = (name: string): string =>
      block
        .split("\n")
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2) ?? "";
    const event = field("event");
    if (event === "") return;
    this.events.push({
      id: field("id"),
      event,
      data: JSON.parse(field("data")) as SseEvent["data"],
    });
  }
}

/** What a client shows of the newest step: deltas since the last request or discard. */
export function shownText(events: readonly SseEvent[]): string {
  let text = "";
  for (const { event, data } of events) {
    if (event === "discard" || data.header?.type === "model.requested") text = "";
    if (event === "delta") text += data.text ?? "";
  }
  return text;
}

/** Types of the durable events, in order. */
export function typesOf(events: readonly SseEvent[]): readonly string[] {
  return events.flatMap(({ data }) => (data.header === undefined ? [] : [data.header.type]));
}

/** Durable events whose seq does not follow the one before: none, or a client saw a gap or a repeat (P2). */
export function seqFaults(events: readonly SseEvent[]): readonly number[] {
  const seqs = events.flatMap(({ data }) => (data.header === undefined ? [] : [data.header.seq]));
  return seqs.filter((seq, index) => index > 0 && seq !== (seqs[index - 1] ?? 0) + 1);
}
