/**
 * ThreadHealthReport: what an object says of its wakes and its outbox (H50, H53 to H55). It says so after each drain, and when
 * the breaker opens or closes, because a thread that gets nowhere may never come to a drain.
 *
 * Alarms are counted in memory and written with the next report, so that a step does nothing for it.
 */
import type { Clock } from "#ports/clock.ts";
import type { EventLog, OutboxCursor } from "#ports/event-log.ts";
import type { MetricsStore } from "#ports/metrics.ts";
import type { ThreadHost } from "./thread-host.ts";
import { WakeBreaker, type Seen } from "./wake-breaker.ts";

export interface HealthDeps {
  readonly open: () => ThreadHost;
  readonly store: MetricsStore;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** What an operator should know. */
  readonly incident: (event: string, error: unknown) => void;
  /** Work that no alarm waits for. */
  readonly background: (work: Promise<void>) => void;
}

export class ThreadHealthReport {
  readonly #deps: HealthDeps;
  #alarms = 0;

  constructor(deps: HealthDeps) {
    this.#deps = deps;
  }

  alarmed(): void {
    this.#alarms += 1;
  }

  /** A wake that takes up what an earlier one did not finish: the shortest time until the next, 0 as usual. */
  backOff(): number {
    const host = this.#deps.open();
    const { delayMs, incident, isOver } = this.#breaker(host).woken(
      host.progressMark(),
      this.#seen(),
    );
    if (incident !== null) this.#deps.incident("wake_backoff", new Error(incident));
    // The store may be what is away, and this wake has other work: it is told later again.
    if (incident !== null || isOver)
      this.#deps.background(
        this.#report(host).catch((error) => this.#deps.incident("health_unreported", error)),
      );
    return delayMs;
  }

  /** Drains the outbox and says how that went, also where it failed. */
  async drain(): Promise<boolean> {
    const host = this.#deps.open();
    try {
      return await host.drainOutbox();
    } finally {
      if (host.log.mode.writable) await this.#report(host);
    }
  }

  async #report(host: ThreadHost): Promise<void> {
    const { log, address } = host;
    const wakes = this.#breaker(host).state(host.progressMark(), this.#seen());
    await this.#deps.store.report({ address, logId: log.logId, ...wakes, ...lagOf(log) });
  }

  #breaker(host: ThreadHost): WakeBreaker {
    return new WakeBreaker(host.storage.database, this.#deps.heartbeatMs);
  }

  #seen(): Seen {
    const alarms = this.#alarms;
    this.#alarms = 0;
    return { alarms, at: this.#deps.clock.now() };
  }
}

interface Lag {
  readonly lagEvents: number;
  readonly lagSince: number | null;
}

/** Of the slowest consumer. Counters do not wait for pruned events, so neither does their lag. */
function lagOf(log: {
  readonly base: EventLog<never>["base"];
  readonly head: EventLog<never>["head"];
  cursors(): readonly OutboxCursor[];
  get(seq: number): { readonly header: { readonly at: number } } | null;
}): Lag {
  const told = Math.min(...log.cursors().map(({ seq }) => seq));
  const from = Math.max(told, log.base().seq);
  const lagEvents = Math.max(0, log.head().seq - from);
  if (!Number.isFinite(told) || lagEvents === 0) return { lagEvents: 0, lagSince: null };
  return { lagEvents, lagSince: log.get(from + 1)?.header.at ?? null };
}
