/**
 * WebhookQueue: what one thread has to send, and when it has to wake for it.
 *
 * Deliveries lie in D1; that there are some is remembered in meta `webhooks` before they are put, so that a process that
 * dies anywhere between comes back for them. A thread without any asks nobody.
 */
import type { ThreadEvents } from "#kernel/events.ts";
import type { Clock } from "#ports/clock.ts";
import type { OutboxConsumer } from "#ports/event-log.ts";
import type { SqlDatabase } from "#ports/sql.ts";
import type { ThreadAddress } from "#shared/ids.ts";
import { webhookConsumer } from "./outbox-webhooks.ts";
import { sendDue, type WebhookParts } from "./webhook-sending.ts";

const KEY = "webhooks";

interface QueueDeps {
  readonly sql: SqlDatabase;
  readonly parts: WebhookParts;
  readonly clock: Clock;
  readonly address: ThreadAddress;
  readonly logId: string;
}

export class WebhookQueue {
  readonly #deps: QueueDeps;
  /** Undefined: not read yet. */
  #nextAt: number | null | undefined = undefined;
  /** Rises with each time that something may have been put. */
  #puts = 0;

  constructor(deps: QueueDeps) {
    this.#deps = deps;
  }

  consumer(): OutboxConsumer<ThreadEvents> {
    return webhookConsumer(this.#deps.address, this.#deps.parts.store, () => this.wake());
  }

  /** As the thread sees time; null when nothing waits. */
  nextAt(): number | null {
    if (this.#nextAt === undefined) this.#nextAt = this.#read();
    return this.#nextAt;
  }

  /** Something may be due from now on. */
  wake(): number {
    const now = this.#deps.clock.now();
    this.#puts += 1;
    this.#write(Math.min(this.nextAt() ?? now, now));
    return now;
  }

  /** From the start, whatever became of it. False where this thread sends no such delivery. */
  async redeliver(webhook: string, message: string): Promise<boolean> {
    const { parts, clock, address, logId } = this.#deps;
    const found = await parts.store.delivery({ tenant: address.tenant, webhook, message });
    if (found === null || found.log !== logId) return false;
    const again = { state: "waiting", attempts: 0, lastStatus: null, lastError: null } as const;
    await parts.store.progress(found, { ...again, nextAt: clock.now() });
    this.wake();
    return true;
  }

  /** Sends what is due. Throws where the store is away; then all of it is due still. */
  async send(): Promise<void> {
    const { parts, clock, address, logId } = this.#deps;
    const puts = this.#puts;
    const nextAt = await sendDue({ ...parts, clock }, { tenant: address.tenant, log: logId });
    // What was put meanwhile may not have been seen.
    if (puts === this.#puts) this.#write(nextAt);
  }

  #read(): number | null {
    const [row] = this.#deps.sql.exec("SELECT value FROM meta WHERE key = ?", KEY);
    return row === undefined ? null : Number(row["value"]);
  }

  #write(nextAt: number | null): void {
    if (nextAt === this.nextAt()) return;
    this.#nextAt = nextAt;
    const { sql } = this.#deps;
    if (nextAt === null) sql.exec("DELETE FROM meta WHERE key = ?", KEY);
    else
      sql.exec(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        KEY,
        String(nextAt),
      );
  }
}
