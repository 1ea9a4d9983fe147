/**
 * ReaderPace: one reader of a stream of events, as the server sees it: whether it takes what is there.
 *
 * P9 nothing is read for a reader that has not taken what came before, so what lies here for it is one block; one that takes
 * nothing for a minute is cut. Silence is filled with comments, which proxies want and a reader has to take as well.
 */
import { utf8 } from "#shared/json.ts";

/** Proxies close a connection after 30 to 60 s of silence. */
const KEEP_ALIVE_MS = 15_000;
/** Ticks in a row at which the same block still lies there. */
const MAX_UNTAKEN_TICKS = 4;

/** Calls back until it is stopped; replaced in tests. */
export type Every = (intervalMs: number, tick: () => void) => () => void;

export class ReaderPace {
  readonly #stop: () => void;
  #quiet = false;
  #untaken = 0;

  constructor(
    controller: Pick<ReadableStreamDefaultController<Uint8Array>, "desiredSize" | "enqueue">,
    cut: () => void,
    every: Every = everyInterval,
  ) {
    this.#stop = every(KEEP_ALIVE_MS, () => {
      if ((controller.desiredSize ?? 0) > 0) {
        if (this.#quiet) controller.enqueue(utf8(": keep-alive\n\n"));
        this.#quiet = true;
        return;
      }
      this.#untaken += 1;
      if (this.#untaken < MAX_UNTAKEN_TICKS) return;
      this.stop();
      cut();
    });
  }

  /** The reader has taken everything and asks for more. */
  took(): void {
    this.#untaken = 0;
  }

  spoke(): void {
    this.#quiet = false;
  }

  stop(): void {
    this.#stop();
  }
}

function everyInterval(intervalMs: number, tick: () => void): () => void {
  const timer = setInterval(tick, intervalMs);
  return () => clearInterval(timer);
}
