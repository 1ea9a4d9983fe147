/**
 * Interrupt: how one flight ends before its time, and how that is told: as an `AbortSignal` to what was called, and
 * directly to who waits for it.
 *
 * One signal a flight, without derived signals and listeners: on the path of every step they cost more than its rules.
 */
export class Interrupt {
  #controller: AbortController | null = null;
  #reason: Error | null = null;
  #cancelled = false;
  #expired = false;
  #onCancel: ((reason: Error) => void) | null = null;
  #onExpiry: ((reason: Error) => void) | null = null;

  /** Aborted by whichever comes first. Made when it is first asked for: most tools never do. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#reason !== null) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
  /** Told from outside: the run was cancelled, or the thread shuts down. */
  get cancelled(): boolean {
    return this.#cancelled;
  }
  /** Told by the crossing itself: it took too long. */
  get expired(): boolean {
    return this.#expired;
  }

  cancel(reason: string): void {
    const why = new DOMException(reason, "AbortError");
    this.#cancelled = true;
    this.#abort(why);
    this.#onCancel?.(why);
  }

  expire(reason: string): void {
    const why = new DOMException(reason, "TimeoutError");
    this.#expired = true;
    this.#abort(why);
    this.#onExpiry?.(why);
  }

  /** `work`, or a rejection at once when it is cancelled or expires, even where `work` does not listen. */
  async untilAborted<T>(work: () => Promise<T>): Promise<T> {
    if (this.#reason !== null) throw this.#reason;
    return new Promise((resolve, reject) => {
      this.#onCancel = reject;
      this.#onExpiry = reject;
      work().then(resolve, reject);
    });
  }

  /** `work`, or a rejection when it expires. A cancelled one is waited for. */
  async untilExpired<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#onExpiry = reject;
      work().then(resolve, reject);
    });
  }

  #abort(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
  }
}
