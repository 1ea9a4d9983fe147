/**
 * One stream over as many connections as it takes.
 *
 * P112 each connection goes on behind the last position seen; what the server might tell twice is told once. P113 a
 * connection that says nothing for `stallMs` is given up. P114 attempts without anything new are bounded, with growing
 * pauses. P116 an abort, or a reader that leaves, closes the connection at once.
 */
import { HoldfastError, toStreamError } from "./errors.ts";
import type { Http } from "./http.ts";
import { SseParser } from "./sse.ts";
import type { Cursor, StreamItem } from "./types.ts";

export interface StreamOptions {
  /** Go on behind this position; default from the first event. */
  readonly from?: Cursor;
  /** False leaves out live text. Default true. */
  readonly deltas?: boolean;
  readonly signal?: AbortSignal;
}
export interface StreamRequest extends StreamOptions {
  readonly path: string;
  /** The stream ends when this run has ended; null: never by itself. */
  readonly runId: string | null;
  /** Asked when a connection ends without a word: whether the run had ended before `from`. */
  readonly hasEnded: () => Promise<boolean>;
}

const FINAL: ReadonlySet<string> = new Set(["run.completed", "run.failed", "run.cancelled"]);

export async function* follow(
  http: Http,
  request: StreamRequest,
): AsyncGenerator<StreamItem, void, undefined> {
  const place = new Place(request.from ?? null);
  for (let attempt = 1; ; attempt++) {
    const outcome = yield* connect(http, request, place);
    if (outcome === "ended") return;
    if (place.takeProgress()) attempt = 0;
    else if (outcome === CLOSED && (await request.hasEnded())) return;
    if (attempt >= http.retry.attempts || outcome.pauseMs === null) throw outcome.error;
    await http.wait(outcome.pauseMs ?? http.pauseBefore(attempt), request.signal);
  }
}

interface Broken {
  readonly error: HoldfastError;
  /** As of `Http.attempt`. */
  readonly pauseMs: number | null | undefined;
}
const broken = (message: string): Broken => ({
  error: new HoldfastError("stalled", message, { retryable: true }),
  pauseMs: undefined,
});
const CLOSED = broken("The stream ended again and again before its run did.");
const CUT = broken("The stream broke off again and again.");
const STALLED = broken("The stream said nothing for too long.");

/** One connection, until it ends in whatever way. */
async function* connect(
  http: Http,
  request: StreamRequest,
  place: Place,
): AsyncGenerator<StreamItem, "ended" | Broken, undefined> {
  // Of this connection: a stall ends it, and nothing else.
  const stop = new AbortController();
  const signal = request.signal ? AbortSignal.any([request.signal, stop.signal]) : stop.signal;
  let heard = true;
  void watch(http, stop, () => {
    const was = heard;
    heard = false;
    return was;
  });
  try {
    const outcome = await http.attempt(request.path, {
      query: { deltas: request.deltas === false ? "0" : "1", run: request.runId ?? undefined },
      headers: { accept: "text/event-stream", ...place.headers() },
      signal,
    });
    if (!("response" in outcome)) return outcome;
    for await (const text of textOf(outcome.response, signal)) {
      heard = true;
      for (const event of place.parse(text)) {
        if (event.event === "error") return toBroken(event.data);
        const item = place.take(event);
        if (item === null) continue;
        yield item;
        if (isEnd(item, request.runId)) return "ended";
      }
    }
    signal.throwIfAborted();
    return CLOSED;
  } catch (cause) {
    if (request.signal?.aborted === true) throw request.signal.reason;
    if (stop.signal.aborted) return STALLED;
    if (cause instanceof HoldfastError) throw cause;
    return CUT;
  } finally {
    stop.abort();
  }
}

/** Looks twice in `stallMs`, so that a stall is noticed between half and all of it after that. */
async function watch(http: Http, stop: AbortController, heard: () => boolean): Promise<void> {
  let quiet = 0;
  try {
    while (quiet < 2) {
      await http.wait(http.stallMs / 2, stop.signal);
      quiet = heard() ? 0 : quiet + 1;
    }
    stop.abort();
  } catch {
    // The connection ended before it stalled.
  }
}

async function* textOf(
  { body }: Response,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  if (body === null) return;
  // Not every browser iterates a stream, and not every fetch ends a body with its signal.
  const reader = body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", leave, { once: true });
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

/** What the server says on purpose is an answer; that it is going away is a reason to come again. */
function toBroken(data: string): Broken {
  const error = toStreamError(data);
  if (error.status < 500) throw error;
  return { error, pauseMs: undefined };
}

function isEnd(item: StreamItem, runId: string | null): boolean {
  return runId !== null && FINAL.has(item.type) && "header" in item && item.header.run === runId;
}

type Position = readonly [seq: number, attempt: number, offset: number];

/** How far a stream has been read, over all its connections. */
class Place {
  #cursor: Cursor | null;
  #position: Position;
  #parser = new SseParser();
  #caughtUp = false;
  #progress = false;

  constructor(from: Cursor | null) {
    this.#cursor = from;
    this.#position = from === null ? [0, 0, 0] : toPosition(from);
  }

  /** Of the next connection, which begins with a line of its own. */
  headers(): Record<string, string> {
    this.#parser = new SseParser();
    return this.#cursor === null ? {} : { "last-event-id": this.#cursor };
  }

  parse(text: string) {
    return this.#parser.push(text);
  }

  /** Whether anything new came since this was asked. */
  takeProgress(): boolean {
    const progress = this.#progress;
    this.#progress = false;
    return progress;
  }

  /** Null for what was told before. */
  take(event: { readonly id: string | null; readonly event: string; readonly data: string }) {
    const { id, event: type, data } = event;
    if (id === null) return null;
    const position = toPosition(id);
    if (type === "caught_up") {
      if (this.#caughtUp) return null;
      this.#caughtUp = true;
    } else if (!isBehind(position, this.#position)) return null;
    this.#cursor = id;
    this.#position = position;
    this.#progress = true;
    return toItem(type, id, data);
  }
}

/** The server's word for each frame; types of events are those of the log. */
function toItem(type: string, cursor: Cursor, data: string): StreamItem {
  const value = JSON.parse(data) as { readonly header?: { readonly type: string } };
  const kind = type === "event" ? value.header?.type : type;
  return { ...value, type: kind, cursor } as StreamItem;
}

function toPosition(cursor: Cursor): Position {
  const [seq = 0, attempt = 0, offset = 0] = cursor.split(".").map(Number);
  return [seq, attempt, offset];
}

function isBehind(a: Position, b: Position): boolean {
  return a[0] !== b[0] ? a[0] > b[0] : a[1] !== b[1] ? a[1] > b[1] : a[2] > b[2];
}
