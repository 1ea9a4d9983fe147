/**
 * DriveCapability: when one thread works, and what wakes it again.
 *
 * D1 Before a command that starts work is acknowledged, an alarm is set: a process that dies at any later moment goes on
 *    by itself within the heartbeat (K1). D2 A wake by a request goes on at once; it does not wait for the alarm.
 * D3 When nothing is left to do, the outbox is drained and no alarm remains, so an idle thread hibernates.
 * D4 What waits for a person keeps no heartbeat: one alarm at its expiry, and the outbox has told the inbox by then (A7).
 * D5 A drive is never awaited inside an alarm or start-up: it may outlast what those may take.
 * D6 A schedule is due at one alarm: every alarm that is set lies no later than the next firing, whatever it is set for.
 *    What fired has begun its run in the same append, so an alarm that comes twice finds nothing due (P121, P126).
 */
import { LifecycleCapability, type LifecycleJobOutcome } from "agents/lifecycle";

export interface DriveHost {
  hasOpenRun(): boolean;
  /** Until when nobody but a person moves the open run; null when it may be driven. */
  waitsUntil(): number | null;
  /** Works until nothing is left, or nothing before a time. */
  drive(): Promise<{ readonly next: "idle" } | { readonly next: "wait"; readonly at: number }>;
  /** When the next schedule is due, as the thread sees time; null when none waits. */
  nextFiring(): number | null;
  /** Begins the runs of all schedules that are due. Throws where that is not known now. */
  fireDue(): Promise<void>;
  /** When something is to be sent to where the tenant wants to be told; null when nothing is. */
  nextDelivery(): number | null;
  /** Sends what is due. Throws where it is not known what is. */
  sendDeliveries(): Promise<void>;
  unsent(error: unknown): void;
  /** Takes over what the agent's file declares; nothing where it is so already. */
  declareSchedules(): void;
  /** The alarm woke this object: for the count of its wakes. */
  alarmed(): void;
  /** Delivers to other objects; true while something is left. */
  drainOutbox(): Promise<boolean>;
  /** A wake takes up what an earlier one did not finish: the shortest time until the next, 0 as usual (H50). */
  backOff(): number;
  /** Signs the heads that are due of a run that goes on (H3); true while something is left. */
  anchor(): Promise<boolean>;
  /** Prunes a bounded part of what is beyond retention; true when there may be more. */
  applyRetention(): Promise<boolean>;
  isErasing(): boolean;
  /** Goes on with the erasure under way; true while something is left. */
  erase(): Promise<boolean>;
  /** Time as the thread sees it; alarms are set in the platform's own. */
  now(): number;
  /** A store that an erasure has to reach is away. */
  unreached(error: unknown): void;
  /** What a schedule that is due begins with is not known now. */
  unfired(error: unknown): void;
  /** A home of signed heads is away; the outbox comes back to it. */
  unanchored(error: unknown): void;
  /** A drive failed: the thread has to be opened again. */
  failed(error: unknown): void;
}

const JOB = "drive";
/** Gathers the outbox of runs that end shortly after one another. */
const OUTBOX_DELAY_MS = 1_000;
const OUTBOX_RETRY_MS = 30_000;
const FIRING_RETRY_MS = 30_000;

export class DriveCapability extends LifecycleCapability {
  readonly #host: DriveHost;
  readonly #heartbeatMs: number;
  #driving = false;
  #sending = false;
  /** Due time of the job as this wake knows it; a command then writes no row when an alarm is near enough. */
  #armedUntil = 0;
  /** A schedule that could not be fired is not tried again before. */
  #firingHeldUntil = 0;
  /** Shortest time until the next alarm, while alarms get nowhere. */
  #backOffMs = 0;

  constructor(host: DriveHost, heartbeatMs: number) {
    super("holdfast-drive");
    this.#host = host;
    this.#heartbeatMs = heartbeatMs;
  }

  /** What woke this thread does not wait for its work (D2, D5). */
  override onStart(): void {
    this.#host.declareSchedules();
    // An alarm that is due is what woke this thread, or comes at once. It starts the work itself, because only then is it
    // known whether wakes get anywhere: work begun here would set the alarm anew, and nobody would count this one (H50).
    const due = this.lifecycle.jobs.get(JOB)?.time ?? Infinity;
    if (due <= Date.now()) return;
    // A process that died between setting a schedule, or taking on an erasure, and its alarm left none.
    const isForgotten = due === Infinity && this.#host.isErasing();
    const wanted = Math.min(
      isForgotten ? Date.now() + this.#heartbeatMs : Infinity,
      this.#firingAlarm(),
    );
    if (wanted < due) this.lifecycle.trackAlarmWork(this.#arm(wanted));
    if (this.#host.hasOpenRun() && this.#host.waitsUntil() === null) this.#start();
  }

  /** Sets the alarm, then starts work without waiting for it. */
  async wake(): Promise<void> {
    this.#backOffMs = 0;
    this.#host.declareSchedules();
    await this.#armHeartbeat();
    this.#start();
  }

  /** The outbox has something to deliver, and no run is live to bring it along. */
  async nudge(): Promise<void> {
    this.#host.declareSchedules();
    const isArmed = this.#isArmedWithin(this.#heartbeatMs);
    if (isArmed) return;
    if (!this.#driving) await this.#arm(Date.now() + OUTBOX_DELAY_MS);
    else if (this.#armedUntil > this.#firingAlarm()) await this.#arm(this.#armedUntil);
  }

  async onJob(): Promise<LifecycleJobOutcome> {
    this.#armedUntil = 0;
    this.#host.alarmed();
    const isOpen = this.#host.hasOpenRun() && this.#host.waitsUntil() === null;
    const isLeftOver = this.#host.isErasing() || (isOpen && !this.#driving);
    this.#backOffMs = isLeftOver ? this.#host.backOff() : 0;
    await this.#fire();
    const waitsUntil = this.#host.waitsUntil();
    const erasing = await this.#erase();
    if (this.#host.hasOpenRun() && waitsUntil === null) {
      this.#start();
      await this.#anchor();
      return this.#again(Date.now() + this.#heartbeat());
    }
    if (erasing) return this.#again(Date.now() + this.#heartbeat());
    try {
      if (await this.#host.drainOutbox()) return this.#again(Date.now() + OUTBOX_DELAY_MS);
      if (await this.#host.applyRetention()) return this.#again(Date.now() + OUTBOX_DELAY_MS);
    } catch {
      // What the outbox delivers to may be away for hours; the cursor has not moved, so nothing is lost by trying later.
      const backOffMs = this.#host.backOff();
      return this.#again(Date.now() + Math.max(OUTBOX_RETRY_MS, backOffMs));
    }
    const delivery = this.#deliveryAlarm();
    if (delivery <= Date.now()) {
      this.#send();
      return this.#again(Date.now() + this.#heartbeat());
    }
    const next = Math.min(
      delivery,
      waitsUntil === null ? Infinity : this.#toAlarm(waitsUntil),
      this.#firingAlarm(),
    );
    return next === Infinity ? undefined : this.#again(next);
  }

  /** Beside everything: who is told may be slow, and the alarm that is set comes back if this process dies meanwhile. */
  #send(): void {
    if (this.#sending) return;
    this.#sending = true;
    this.lifecycle.trackAlarmWork(this.#sendAll());
  }

  async #sendAll(): Promise<void> {
    let retryMs = 0;
    try {
      await this.#host.sendDeliveries();
    } catch (error) {
      this.#host.unsent(error);
      retryMs = OUTBOX_RETRY_MS;
    }
    this.#sending = false;
    const next = Math.max(this.#deliveryAlarm(), Date.now() + retryMs);
    if (next < this.#armedUntil) await this.#arm(next);
  }

  #deliveryAlarm(): number {
    const at = this.#host.nextDelivery();
    return at === null ? Infinity : this.#toAlarm(at);
  }

  /** What is due and does not go away, because it cannot be fired now, must not keep the alarm ringing. */
  async #fire(): Promise<void> {
    if (!this.#isDue() || Date.now() < this.#firingHeldUntil) return;
    try {
      await this.#host.fireDue();
    } catch (error) {
      this.#host.unfired(error);
    }
    this.#firingHeldUntil = this.#isDue() ? Date.now() + FIRING_RETRY_MS : 0;
  }

  #isDue(): boolean {
    return (this.#host.nextFiring() ?? Infinity) <= this.#host.now();
  }

  /** Infinity when no schedule waits. */
  #firingAlarm(): number {
    const at = this.#host.nextFiring();
    return at === null ? Infinity : Math.max(this.#toAlarm(at), this.#firingHeldUntil);
  }

  /** A store that is away leaves the erasure open: this comes back to it until every store has answered (H31). */
  async #erase(): Promise<boolean> {
    if (!this.#host.isErasing()) return false;
    try {
      return await this.#host.erase();
    } catch (error) {
      this.#host.unreached(error);
      return true;
    }
  }

  /** Bounded, and beside the run: a long one does not wait for its end to be beyond rewriting. */
  async #anchor(): Promise<void> {
    try {
      await this.#host.anchor();
    } catch (error) {
      this.#host.unanchored(error);
    }
  }

  #start(): void {
    if (this.#driving) return;
    this.#driving = true;
    const work = this.#run();
    this.lifecycle.trackAlarmWork(work);
  }

  async #run(): Promise<void> {
    try {
      await this.#armHeartbeat();
      const result = await this.#host.drive();
      this.#driving = false;
      const outbox = Date.now() + OUTBOX_DELAY_MS;
      await this.#arm(result.next === "wait" ? Math.min(outbox, this.#toAlarm(result.at)) : outbox);
    } catch (error) {
      this.#driving = false;
      this.#host.failed(error);
      await this.#arm(Date.now() + this.#heartbeat());
    }
  }

  #heartbeat(): number {
    return Math.max(this.#heartbeatMs, this.#backOffMs);
  }

  async #armHeartbeat(): Promise<void> {
    const now = Date.now();
    const heartbeatMs = this.#heartbeat();
    const isNear = this.#armedUntil >= now + heartbeatMs / 2 && this.#isArmedWithin(heartbeatMs);
    // An alarm that waits for a person is days away, and must not be what a process that dies now waits for (D1).
    if (!isNear) await this.#arm(now + heartbeatMs);
  }

  /** Time of the thread as time of the platform. */
  #toAlarm(at: number): number {
    return Date.now() + Math.max(0, at - this.#host.now());
  }

  /** Whether an alarm is set that comes within this time, and no later than the next firing. */
  #isArmedWithin(ms: number): boolean {
    const now = Date.now();
    const latest = Math.min(now + ms, this.#firingAlarm());
    return this.#armedUntil >= now && this.#armedUntil <= latest;
  }

  async #arm(latest: number): Promise<void> {
    const time = Math.min(latest, this.#firingAlarm());
    this.#armedUntil = time;
    await this.lifecycle.jobs.push({ id: JOB, fn: JOB, time, recoveryLoop: true });
  }

  #again(latest: number): LifecycleJobOutcome {
    const time = Math.min(latest, this.#firingAlarm());
    this.#armedUntil = time;
    return { rescheduleAt: time };
  }
}
