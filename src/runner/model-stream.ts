/**
 * Reads one model attempt to its end: collects its parts, hands live text on, and turns every way a stream can go wrong
 * (silence, an end without a finish, a throw) into the one error part that the contract promises (M2, M5).
 */
import type { Model, ModelPart, ModelRequest } from "#ports/model.ts";
import type { Timers } from "./timers.ts";

/** A provider that says nothing for this long is taken for dead. Reasoning models keep their streams alive with parts. */
export const DEFAULT_IDLE_MS = 60_000;

export type ModelEnd = Extract<ModelPart, { readonly type: "finish" | "error" }>;
export interface CollectedAnswer {
  /** Without the end; neighbouring text parts are joined. */
  readonly parts: readonly ModelPart[];
  readonly end: ModelEnd;
}
export interface StreamReading {
  readonly request: ModelRequest;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  readonly idleMs: number;
  readonly timers: Timers;
  readonly now: () => number;
  readonly onText: (text: string) => void;
}

/** Never throws. Answers at once when `signal` is aborted, even where the model does not listen. */
export async function readModelStream(
  model: Model,
  reading: StreamReading,
): Promise<CollectedAnswer> {
  const idle = new IdleWatch(reading);
  const signal = AbortSignal.any([reading.signal, idle.signal]);
  const collected: ModelPart[] = [];
  try {
    const end = await Promise.race([
      consume(model, collected, { ...reading, signal, idle }),
      whenAborted(signal),
    ]);
    return { parts: collected, end };
  } catch (error) {
    return { parts: [...collected], end: toEnd(error, reading, idle) };
  } finally {
    idle.stop();
  }
}

async function consume(
  model: Model,
  collected: ModelPart[],
  reading: StreamReading & { readonly idle: IdleWatch },
): Promise<ModelEnd> {
  const { request, idempotencyKey, signal, onText, idle } = reading;
  for await (const part of model.stream(request, { signal, idempotencyKey })) {
    if (signal.aborted) break;
    idle.alive();
    if (part.type === "finish" || part.type === "error") return part;
    add(collected, part);
    if (part.type === "text") onText(part.text);
  }
  return failure("stream_incomplete", "the stream ended without a finish", true);
}

function add(collected: ModelPart[], part: ModelPart): void {
  const last = collected.at(-1);
  if (part.type !== "text" || last?.type !== "text") collected.push(part);
  else collected[collected.length - 1] = { type: "text", text: last.text + part.text };
}

function toEnd(error: unknown, reading: StreamReading, idle: IdleWatch): ModelEnd {
  if (reading.signal.aborted) return failure("aborted", "the call was aborted", false);
  if (idle.signal.aborted)
    return failure("timeout", `the model said nothing for ${reading.idleMs} ms`, true);
  return failure(
    "stream_error",
    error instanceof Error ? error.message : "the model adapter failed",
    true,
  );
}

export function failure(
  code: Extract<ModelPart, { type: "error" }>["code"],
  message: string,
  retryable: boolean,
): ModelEnd {
  return { type: "error", code, message, retryable, retryAfterMs: null, usage: null };
}

/** One timer for the whole stream: re-armed when it fires, not at each part. */
class IdleWatch {
  readonly #reading: StreamReading;
  readonly #controller = new AbortController();
  #last: number;
  #cancel: () => void;

  constructor(reading: StreamReading) {
    this.#reading = reading;
    this.#last = reading.now();
    this.#cancel = reading.timers.after(reading.idleMs, () => this.#look());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }
  alive(): void {
    this.#last = this.#reading.now();
  }
  stop(): void {
    this.#cancel();
  }

  #look(): void {
    const { idleMs, now, timers } = this.#reading;
    const left = this.#last + idleMs - now();
    if (left <= 0) this.#controller.abort(new DOMException("idle", "TimeoutError"));
    else this.#cancel = timers.after(left, () => this.#look());
  }
}

export async function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void =>
      reject(
        signal.reason instanceof Error ? signal.reason : new DOMException("aborted", "AbortError"),
      );
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}
