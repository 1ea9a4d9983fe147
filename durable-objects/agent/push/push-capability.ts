/**
 * PushCapability: the alarm of notifications, apart from the thread's own: a receiver that is away wakes nothing but this,
 * and counts as no failure of the outbox.
 */
import { LifecycleCapability, type LifecycleJobOutcome } from "agents/lifecycle";

export interface PushHost {
  /** One round; answers when the next is due, in the thread's time, null when nothing waits. */
  round(): Promise<number | null>;
  now(): number;
  failed(error: unknown): void;
}

const JOB = "push";
const RETRY_MS = 30_000;

export class PushCapability extends LifecycleCapability {
  readonly #host: PushHost;
  #running = false;
  #again = false;

  constructor(host: PushHost) {
    super("holdfast-push");
    this.#host = host;
  }

  /** Durable before it returns: what is to be told is told, whatever dies. */
  async arm(): Promise<void> {
    if (this.#running) this.#again = true;
    else await this.lifecycle.jobs.push({ id: JOB, fn: JOB, time: Date.now() });
  }

  async onJob(): Promise<LifecycleJobOutcome> {
    this.#running = true;
    try {
      const due = await this.#host.round();
      if (this.#again) return { rescheduleAt: Date.now() };
      if (due === null) return undefined;
      return { rescheduleAt: Date.now() + Math.max(0, due - this.#host.now()) };
    } catch (error) {
      this.#host.failed(error);
      return { rescheduleAt: Date.now() + RETRY_MS };
    } finally {
      this.#running = false;
      this.#again = false;
    }
  }
}
