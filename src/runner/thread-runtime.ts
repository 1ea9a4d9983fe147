/**
 * ThreadRuntime: one whole thread over ports, the same in a Durable Object and in plain Node.
 *
 * Owns the loop `next effects -> gate -> append`. Does not own storage, alarms, sockets or who may ask: those are the
 * host's. Invariants:
 * R1 `submit` is synchronous and durable when it answers (K1); a key or message id known already answers the first
 *    receipt (K2).
 * R2 `drive` is single-flight; a command that arrives meanwhile is picked up by the drive in progress.
 * R3 Opening is the whole of recovery: what an earlier process left open shows as an intent of an older epoch, and the
 *    kernel says what becomes of it (G6 to G9).
 * R4 A runtime whose storage failed, or whose epoch is old, stops for good; its host opens a new one.
 */
import type { CallModel, CallTool, Effect } from "#kernel/effects.ts";
import type { CommandContext, Receipt, Rejection, ThreadCommand } from "#kernel/commands.ts";
import { decide } from "#kernel/decide.ts";
import type { ThreadEvent } from "#kernel/events.ts";
import type { ThreadState } from "#kernel/state.ts";
import type { CommandStore } from "#ports/command-store.ts";
import type { ErasureReceipt, LogMode } from "#ports/event-log.ts";
import type { StreamBlocks } from "#ports/stream-blocks.ts";
import { isAppError, type ErrorCode } from "#shared/errors.ts";
import { err, ok, type Result } from "#shared/result.ts";
import type { Crossing } from "./crossing.ts";
import { CrossingFactory, type EffectDeps } from "./crossing-factory.ts";
import { Gate } from "./gate.ts";
import type { Boundary } from "./gate-hooks.ts";
import { Journal, type JournalDeps } from "./journal.ts";
import { Latch } from "./latch.ts";
import { LiveText } from "./live-text.ts";
import { takeUpOpenAttempt } from "./recover.ts";
import { StreamHub, type StreamOptions, type StreamSubscription } from "./stream.ts";

export interface ThreadDeps extends JournalDeps, EffectDeps {
  readonly commands: CommandStore;
  readonly blocks: StreamBlocks;
  readonly boundary: Boundary;
}

/** Of one timer of the platform. Looking again too early does no harm. */
const MAX_WAIT_MS = 86_400_000;

export type SubmitRefusal =
  | Rejection
  | { readonly reason: "idempotency_conflict" }
  | { readonly reason: "read_only"; readonly code: ErrorCode; readonly message: string };

export type DriveResult =
  | { readonly next: "idle" }
  | { readonly next: "wait"; readonly at: number };

export class ThreadRuntime {
  readonly #deps: ThreadDeps;
  readonly #journal: Journal;
  readonly #hub: StreamHub;
  readonly #gate: Gate;
  readonly #crossings: CrossingFactory;
  readonly #latch = new Latch();
  #driving: Promise<DriveResult> | null = null;
  #fault: { readonly error: unknown } | null = null;

  /** Never throws on a log that can be read: one that cannot be run opens read-only (L6, K14). */
  static open(deps: ThreadDeps): ThreadRuntime {
    return new ThreadRuntime(deps);
  }

  constructor(deps: ThreadDeps) {
    this.#deps = deps;
    const live = new LiveText(deps.blocks, deps.timers);
    this.#hub = new StreamHub(deps.log, live);
    this.#journal = new Journal(deps, {
      within: (events) => events.forEach((event) => live.dropBlocks(event)),
      appended: (events) => this.#hub.appended(events),
    });
    this.#crossings = new CrossingFactory(deps, this.#journal, this.#hub);
    this.#gate = new Gate({
      journal: this.#journal,
      hooks: deps.hooks,
      boundary: deps.boundary,
      workspace: deps.workspace,
      settled: () => this.#latch.notify(),
      faulted: (error) => this.#stop(error),
    });
    takeUpOpenAttempt(this.#journal.state, live);
  }

  get state(): ThreadState {
    return this.#journal.state;
  }
  /** Seq of the newest event that this runtime knows, without asking storage. */
  get seq(): number {
    return this.#journal.seq;
  }
  /** Why this runtime takes nothing any more: its host opens a new one. Null while it works. */
  get closed(): string | null {
    return this.#journal.closed;
  }
  get mode(): LogMode {
    return this.#journal.mode;
  }

  /**
   * Decides, appends and stores the receipt in one transaction. `within` runs in it too, for content that the command
   * names (a file's chunks). Throws only where storage does.
   */
  submit(
    command: ThreadCommand,
    context: CommandContext,
    within: () => void = () => undefined,
  ): Result<Receipt, SubmitRefusal> {
    const closed = this.#refuseWhenClosed();
    if (closed !== null) return err(closed);
    const keys = toKeys(command, context);
    for (const key of keys) {
      const known = this.#deps.commands.get(key);
      if (known === null) continue;
      return known.bodyDigest === context.bodyDigest
        ? ok(known.receipt)
        : err({ reason: "idempotency_conflict" });
    }
    const decided = decide(this.state, command, context);
    if (!decided.ok) return decided;
    const { drafts, receipt: undated } = decided.value;
    let receipt: Receipt = { ...undated, seq: this.#journal.seq + drafts.length };
    const remember = (): void => {
      for (const key of keys) {
        this.#deps.commands.put(key, {
          bodyDigest: context.bodyDigest,
          receipt,
          at: this.#deps.clock.now(),
        });
      }
    };
    if (drafts.length === 0) {
      receipt = { ...receipt, seq: this.#journal.seq };
      this.#deps.transact(remember);
      return ok(receipt);
    }
    try {
      this.#journal.append(
        () => {
          within();
          return drafts;
        },
        () => remember(),
      );
    } catch (error) {
      const refusal = this.#closeWhenStale(error);
      if (refusal === null) throw error;
      return err(refusal);
    }
    this.#gate.abortClosed("the run was cancelled, or its thread halted");
    this.#latch.notify();
    return ok(receipt);
  }

  /** Works until nothing is left to do, or nothing before a time. Rejects when this runtime has to be opened again. */
  drive(): Promise<DriveResult> {
    this.#latch.notify();
    this.#driving ??= this.#run();
    return this.#driving;
  }

  /** The next events behind `seq`, the newest ones without asking storage; none at the head. */
  eventsAfter(seq: number): readonly ThreadEvent[] {
    return this.#hub.eventsAfter(seq);
  }

  subscribe(options: StreamOptions): StreamSubscription {
    return this.#hub.subscribe(options);
  }

  /**
   * Erases payloads and everything that was read from them: state is folded again, prompts and streams read anew. Which
   * events may be erased is the host's to check (`isErasable`).
   */
  erase(seqs: readonly number[]): ErasureReceipt {
    const receipt = this.#deps.log.erase(seqs);
    this.forget({ refold: true });
    return receipt;
  }

  /** What is gone from the log goes from memory. State is folded again where it may still hold some of it. */
  forget({ refold }: { readonly refold: boolean }): void {
    this.#journal.forget({ refold });
    this.#crossings.forget();
    this.#hub.forget();
    this.#latch.notify();
  }

  /** After an erasure took all snapshots: the next wake need not fold the whole log. */
  saveSnapshot(): void {
    this.#journal.saveSnapshot();
  }

  /** Stops for good, for a shutdown: aborts what is in flight and ends all subscriptions. Nothing is lost. */
  abort(reason: string): void {
    if (this.#journal.closed === null) this.#hub.live.flush();
    this.#journal.close(reason);
    this.#gate.abortAll(reason);
    this.#hub.close();
    this.#deps.timers.rest();
    this.#latch.notify();
  }

  async #run(): Promise<DriveResult> {
    try {
      for (;;) {
        if (this.#fault !== null) throw this.#fault.error;
        const result = await this.#turn();
        if (result !== null) return result;
      }
    } catch (error) {
      if (this.#closeWhenStale(error) !== null) return { next: "idle" };
      this.#stop(error);
      throw error;
    } finally {
      this.#driving = null;
    }
  }

  /** One look at the state; null to look again. */
  async #turn(): Promise<DriveResult | null> {
    if (this.#journal.closed !== null) return this.#finish({ next: "idle" });
    const { run, queue } = this.state;
    const refreshing = run === null && queue.length === 0 ? null : this.#deps.prices.refresh?.();
    if (refreshing) await refreshing;
    const effects = this.#journal.effects();
    if (effects.some((effect) => effect.type === "record" || effect.type === "complete_run")) {
      this.#journal.append(() => []);
      // The records may have closed what is in flight: a run whose time is over (B57).
      this.#gate.abortClosed("the run has ended");
      return null;
    }
    const crossings = effects.flatMap((effect): readonly Crossing[] =>
      isGated(effect) ? [this.#crossings.create(effect)] : [],
    );
    if (crossings.length > 0) {
      await this.#gate.cross(crossings);
      return null;
    }
    // The outside is busy or there is nothing to do: the moment at which a snapshot delays nobody.
    this.#journal.snapshotWhenDue(!this.#gate.hasOpenFlights());
    const wait = effects.find((effect) => effect.type === "wait_until");
    if (this.#gate.hasOpenFlights()) {
      await this.#untilNews(wait?.at ?? null);
      return null;
    }
    return this.#finish(wait === undefined ? { next: "idle" } : { next: "wait", at: wait.at });
  }

  /** Until something settles or is asked, or until a time at which the kernel wants to look again. */
  async #untilNews(at: number | null): Promise<void> {
    const { clock, timers } = this.#deps;
    const ms = at === null ? null : Math.min(MAX_WAIT_MS, Math.max(1, at - clock.now()));
    const stop = ms === null ? null : timers.after(ms, () => this.#latch.notify());
    await this.#latch.wait();
    stop?.();
  }

  /** In the tick that found nothing to do, so that a command of the next tick starts a drive of its own. */
  #finish(result: DriveResult): DriveResult {
    this.#driving = null;
    this.#deps.timers.rest();
    return result;
  }

  #stop(error: unknown): void {
    if (this.#closeWhenStale(error) === null) this.#fault ??= { error };
    const reason = error instanceof Error ? error.message : "the runtime failed";
    this.#journal.close(reason);
    this.abort(reason);
  }

  #refuseWhenClosed(): Extract<SubmitRefusal, { reason: "read_only" }> | null {
    const { mode, closed } = this.#journal;
    if (!mode.writable) return { reason: "read_only", code: mode.reason, message: mode.message };
    return closed === null ? null : { reason: "read_only", code: "unavailable", message: closed };
  }

  /** Another process writes this log: this one says no from here on, and harms nothing (L5, G10). */
  #closeWhenStale(error: unknown): Extract<SubmitRefusal, { reason: "read_only" }> | null {
    if (!isAppError(error) || (error.code !== "stale_epoch" && error.code !== "conflict"))
      return null;
    this.#journal.close("another process has taken this thread over");
    return { reason: "read_only", code: error.code, message: error.message };
  }
}

function isGated(effect: Effect): effect is CallModel | CallTool {
  return effect.type === "call_model" || effect.type === "call_tool";
}

/** Keys are kept per principal, so that nobody can read another's receipt by guessing its key. */
function toKeys(
  command: ThreadCommand,
  { actor, idempotencyKey }: CommandContext,
): readonly string[] {
  const keys = idempotencyKey === null ? [] : [`key:${actor}:${idempotencyKey}`];
  const messageId = newMessageId(command);
  return messageId === null ? keys : [...keys, `message:${actor}:${messageId}`];
}

function newMessageId(command: ThreadCommand): string | null {
  if (command.type === "send_message") return command.messageId;
  // A message that is answered again is none of its own.
  if (command.type !== "start_branch" || command.run === null || command.run.seq !== null)
    return null;
  return command.run.messageId;
}
