/**
 * LiveText: what the open model attempt has said so far.
 *
 * Owns the in-memory text of one attempt and its packed blocks in storage (P3). Never the source of truth: the outcome
 * event is, and in its transaction the blocks go.
 */
import type { ThreadEvent } from "#kernel/events.ts";
import type { StreamBlocks } from "#ports/stream-blocks.ts";
import type { Timers } from "./timers.ts";

/** A row per token would cost more than the answer itself; 1 KiB or a quarter second loses nothing a reader would miss. */
const BLOCK_CHARACTERS = 1_024;
const BLOCK_MS = 250;

export interface OpenAttempt {
  readonly intentId: string;
  readonly seq: number;
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
}

export class LiveText {
  readonly #blocks: StreamBlocks;
  readonly #timers: Timers;
  #open: OpenAttempt | null = null;
  #text = "";
  /** Characters and blocks that are in storage. */
  #stored = 0;
  #blockCount = 0;
  #cancelTimer: (() => void) | null = null;

  constructor(blocks: StreamBlocks, timers: Timers) {
    this.#blocks = blocks;
    this.#timers = timers;
  }

  get open(): OpenAttempt | null {
    return this.#open;
  }
  get text(): string {
    return this.#text;
  }

  /** Takes up an attempt of an earlier wake, so that its readers see what was stored until it is closed. */
  resume(attempt: OpenAttempt): void {
    this.#open = attempt;
    const blocks = this.#blocks.read(attempt.seq);
    this.#text = blocks.map((block) => block.text).join("");
    this.#stored = this.#text.length;
    this.#blockCount = blocks.length;
  }

  /** False when the attempt is closed: late text reaches nobody. */
  add(intentId: string, text: string): boolean {
    if (this.#open?.intentId !== intentId || text === "") return false;
    this.#text += text;
    if (this.#text.length - this.#stored >= BLOCK_CHARACTERS) this.flush();
    else this.#cancelTimer ??= this.#timers.after(BLOCK_MS, () => this.flush());
    return true;
  }

  flush(): void {
    this.#stopTimer();
    const open = this.#open;
    if (open === null || this.#text.length === this.#stored) return;
    const { seq, attempt } = open;
    const text = this.#text.slice(this.#stored);
    this.#stored = this.#text.length;
    try {
      this.#blocks.append({ seq, attempt, idx: this.#blockCount, text });
      this.#blockCount += 1;
    } catch {
      // A lost block costs a reader part of a text that is about to be recorded. Storage that fails here fails the next
      // append too, and that is where it is told; a model's answer must not fail for it.
    }
  }

  /** In the transaction of an outcome. */
  dropBlocks(event: ThreadEvent): void {
    if (
      isModelOutcome(event) &&
      event.header.cause === this.#open?.intentId &&
      this.#blockCount > 0
    ) {
      this.#blocks.delete(this.#open.seq);
    }
  }

  /** After an append is durable. */
  follow(event: ThreadEvent): void {
    const { id, seq, run, step, attempt, cause } = event.header;
    if (event.type === "model.requested") {
      this.#reset({ intentId: id, seq, runId: run ?? "", step: step ?? 0, attempt: attempt ?? 1 });
    } else if (isModelOutcome(event) && cause === this.#open?.intentId) {
      this.#reset(null);
    }
  }

  /** Takes no more text; stored blocks stay for the next wake. */
  close(): void {
    this.#reset(null);
  }

  #reset(open: OpenAttempt | null): void {
    this.#stopTimer();
    this.#open = open;
    this.#text = "";
    this.#stored = 0;
    this.#blockCount = 0;
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }
}

export function isModelOutcome(event: ThreadEvent): boolean {
  return (
    event.type === "model.answered" ||
    event.type === "model.failed" ||
    event.type === "model.interrupted"
  );
}
