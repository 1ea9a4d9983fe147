/**
 * Timers: waiting inside one wake (idle streams, tool timeouts). What must survive a restart waits by an alarm instead.
 */
export interface Timers {
  /** Calls `fire` once after `ms`; the answer cancels it. */
  after(ms: number, fire: () => void): () => void;
  /** Nothing of this thread waits any more: what is kept for the next wait may go, so that an idle object can sleep. */
  rest(): void;
}

interface Deadline {
  readonly at: number;
  readonly fire: () => void;
}

/**
 * One platform timer for all deadlines. Almost every wait is cancelled long before its deadline, so cancelling only
 * forgets it; the platform's timer stays armed for the earliest until it fires or the thread comes to rest.
 */
export class SharedTimers implements Timers {
  readonly #deadlines = new Set<Deadline>();
  #handle: ReturnType<typeof setTimeout> | null = null;
  #armedFor = Number.POSITIVE_INFINITY;

  after(ms: number, fire: () => void): () => void {
    const deadline = { at: Date.now() + ms, fire };
    this.#deadlines.add(deadline);
    if (deadline.at < this.#armedFor) this.#arm(deadline.at);
    return () => this.#deadlines.delete(deadline);
  }

  rest(): void {
    if (this.#deadlines.size === 0) this.#disarm();
  }

  #arm(at: number): void {
    this.#disarm();
    this.#armedFor = at;
    this.#handle = setTimeout(() => this.#fire(), Math.max(0, at - Date.now()));
  }

  #disarm(): void {
    if (this.#handle !== null) clearTimeout(this.#handle);
    this.#handle = null;
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#disarm();
    const now = Date.now();
    const due = this.#deadlines.values().filter((deadline) => deadline.at <= now);
    for (const deadline of due.toArray()) {
      // One that a deadline before it cancelled is gone from the set.
      if (this.#deadlines.delete(deadline)) deadline.fire();
    }
    let earliest = Number.POSITIVE_INFINITY;
    for (const { at } of this.#deadlines) earliest = Math.min(earliest, at);
    if (Number.isFinite(earliest)) this.#arm(earliest);
  }
}
