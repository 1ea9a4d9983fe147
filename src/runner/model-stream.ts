/**
 * Reads one model attempt to its end: collects its parts, hands live text on, and turns every way a stream can go wrong
 * (silence, an end without a finish, a throw) into the one error part that the contract promises (M2, M5).
 */
import type { Model, ModelPart, ModelRequest } from "#ports/model.ts";
import type { Interrupt } from "./interrupt.ts";
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
  readonly interrupt: Interrupt;
  readonly idleMs: number;
  readonly timers: Timers;
  readonly now: () => number;
  readonly onText: (text: string) => void;
}

/** Never throws. Answers at once when it is interrupted, even where the model does not listen. */
export async function readModelStream(
  model: Model,
  reading: StreamReading,
): Promise<CollectedAnswer> {
  const idle = new IdleWatch(reading);
  const collected: ModelPart[] = [];
  try {
    const end = await reading.interrupt.untilAborted(() =>
      consume(model, collected, { reading, idle }),
    );
    return { parts: collected, end };
  } catch (error) {
    return { parts: [...collected], end: toEnd(error, reading) };
  } finally {
    idle.stop();
  }
}

async function consume(
  model: Model,
  collected: ModelPart[],
  { reading, idle }: { readonly reading: StreamReading; readonly idle: IdleWatch },
): Promise<ModelEnd> {
  const { request, idempotencyKey, interrupt, onText } = reading;
  const { signal } = interrupt;
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

function toEnd(error: unknown, { interrupt, idleMs }: StreamReading): ModelEnd {
  if (interrupt.cancelled) return failure("aborted", "the call was aborted", false);
  if (interrupt.expired) return failure("timeout", `the model said nothing for ${idleMs} ms`, true);
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
  #last: number;
  #cancel: () => void;

  constructor(reading: StreamReading) {
    this.#reading = reading;
    this.#last = reading.now();
    this.#cancel = reading.timers.after(reading.idleMs, () => this.#look());
  }

  alive(): void {
    this.#last = this.#reading.now();
  }
  stop(): void {
    this.#cancel();
  }

  #look(): void {
    const { idleMs, now, timers, interrupt } = this.#reading;
    const left = this.#last + idleMs - now();
    if (left <= 0) interrupt.expire("idle");
    else this.#cancel = timers.after(left, () => this.#look());
  }
}
