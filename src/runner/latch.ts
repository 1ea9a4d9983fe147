/** Latch: one waiter, woken by a notification that may have come before it waited. */
export class Latch {
  #notified = false;
  #wake: (() => void) | null = null;

  notify(): void {
    this.#notified = true;
    this.#wake?.();
  }

  async wait(): Promise<void> {
    if (!this.#notified) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#notified = false;
    this.#wake = null;
  }
}
