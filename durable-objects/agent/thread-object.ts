/**
 * ThreadObject: the lifecycle of one thread's Durable Object on the Agents SDK: storage, alarms, sockets, recovery.
 *
 * The SDK gives the base class, its lifecycle and its alarm queue; the work is the runtime's (#runner). Native RPC does not
 * pass through `fetch`, so every way in first awaits start-up. What a subclass needs of it lies under a symbol, because
 * any method with a name of text could be called over RPC.
 */
import { Agent } from "agents";
import type { Caller, Reply, ThreadStub } from "#ports/thread-gateway.ts";
import type { DriveResult } from "#runner/thread-runtime.ts";
import { AppError } from "#shared/errors.ts";
import { fromObjectName } from "#shared/ids.ts";
import type { ThreadComposition } from "./composition.ts";
import { DriveCapability } from "./drive-capability.ts";
import { PushCapability } from "./push/push-capability.ts";
import { pushRound } from "./push/push-work.ts";
import { SocketCapability } from "./sockets/socket-capability.ts";
import { SocketHub } from "./sockets/socket-hub.ts";
import { declareSchedules, MAIN_THREAD } from "./schedule-declarations.ts";
import { fireDue, nextFiring } from "./schedule-firing.ts";
import { ThreadHost } from "./thread-host.ts";
import { ThreadHealthReport } from "./thread-health.ts";

export const ACCESS = Symbol("access");
export const STUB = Symbol("stub");

/** How a method of the object reaches its thread. */
export interface ThreadAccess {
  /** The host, after start-up. */
  ready(): Promise<ThreadHost>;
  read<T>(caller: Caller, read: (host: ThreadHost) => Reply<T>): Promise<Reply<T>>;
  /** A command that begins a run, which needs to know with what. */
  begin<T>(caller: Caller, command: (host: ThreadHost) => Reply<T>): Promise<Reply<T>>;
  /** Answers only after the alarm is set that lets the work survive this process. */
  command<T>(caller: Caller, command: (host: ThreadHost) => Reply<T>): Promise<Reply<T>>;
  /** Something was appended that the outbox has to tell. */
  nudge(): Promise<void>;
  /** Somebody is to be told how a run goes on. */
  notify(): Promise<void>;
  /** One attempt at the erasure under way; the alarm goes on where it is not enough. */
  erase(): Promise<void>;
}

/**
 * A composition root extends a subclass and gives `compose`. Static, because an instance's methods can be called over RPC.
 */
export abstract class ThreadObject<E extends Cloudflare.Env = Cloudflare.Env> extends Agent<E> {
  static readonly compose: (env: never) => ThreadComposition = () => {
    throw new AppError("config_invalid", "this class has no composition", { kind: "faulted" });
  };
  readonly #composition: ThreadComposition;
  readonly #drive: DriveCapability;
  readonly #health: ThreadHealthReport;
  readonly #sockets: SocketHub;
  readonly #push: PushCapability;
  #host: ThreadHost | null = null;

  readonly [ACCESS]: ThreadAccess = {
    ready: async () => this.#ready(),
    read: async (caller, read) => {
      const host = await this.#ready();
      return host.guard(caller, () => read(host));
    },
    begin: async (caller, command) => {
      const host = await this.#ready();
      await host.prices.refresh?.();
      const known = await host.refreshDefinition();
      return known.ok ? this.#command(caller, command) : known;
    },
    command: async (caller, command) => {
      await this.#learn();
      return this.#command(caller, command);
    },
    nudge: async () => {
      await this.#learn();
      return this.#drive.nudge();
    },
    notify: async () => this.#push.arm(),
    erase: async () => this.#erase(),
  };

  constructor(ctx: DurableObjectState, env: E) {
    super(ctx, env);
    // The subclass takes the environment of its own deployment.
    const compose = new.target.compose as (env: E) => ThreadComposition;
    this.#composition = compose(env);
    this.#health = new ThreadHealthReport({
      open: () => this.#open(),
      store: this.#composition.metrics,
      clock: this.#composition.clock,
      heartbeatMs: this.#composition.heartbeatMs,
      incident: (event, error) => this.#report(event, error),
      background: (work) => ctx.waitUntil(work),
    });
    this.#drive = new DriveCapability(
      {
        hasOpenRun: () => this.#open().hasOpenRun(),
        waitsUntil: () => this.#open().waitsUntil(),
        drive: () => this.#work(),
        nextFiring: () => nextFiring(this.#open()),
        fireDue: () => fireDue(this.#open(), () => this.#declare()),
        nextDelivery: () => this.#open().webhooks.nextAt(),
        sendDeliveries: () => this.#open().webhooks.send(),
        unsent: (error) => this.#report("webhooks_wait", error),
        declareSchedules: () => this.#declare(),
        alarmed: () => this.#health.alarmed(),
        drainOutbox: () => this.#health.drain(),
        anchor: () => this.#open().anchor(),
        unanchored: (error) => this.#report("anchors_wait", error),
        backOff: () => this.#health.backOff(),
        applyRetention: () => this.#open().applyRetention(),
        isErasing: () => this.#open().isErasing(),
        erase: () => this.#open().continueErasure(),
        unreached: (error) => this.#report("erasure_waits", error),
        unfired: (error) => this.#report("schedule_waits", error),
        now: () => this.#composition.clock.now(),
        failed: (error) => this.#failed(error),
      },
      this.#composition.heartbeatMs,
    );
    this.#sockets = new SocketHub({
      ctx,
      protocol: this.#composition.socketProtocol,
      keys: this.#composition.keys,
      open: () => this.#open(),
      thread: this[STUB](),
      failed: (error) => this.#report("socket_failed", error),
    });
    const { push } = this.#composition;
    this.#push = new PushCapability({
      round: async () =>
        pushRound(await this.#ready(), {
          ...push,
          givenUp: (configId) => this.#report("push_given_up", new Error(configId)),
        }),
      now: () => this.#composition.clock.now(),
      failed: (error) => this.#report("push_failed", error),
    });
    this.lifecycle.use(this.#drive).use(this.#push).use(new SocketCapability(this.#sockets));
  }

  /** The object itself, as sockets call it: the same methods, the same checks. */
  abstract [STUB](): ThreadStub;

  /** Upgrades of the gateway's own making; nothing of the SDK's is reached over HTTP. */
  override async fetch(request: Request): Promise<Response> {
    await this.#ready();
    return this.#sockets.accept(request);
  }

  /** Answers only after the alarm is set that lets the work survive this process. */
  async #command<T>(caller: Caller, command: (host: ThreadHost) => Reply<T>): Promise<Reply<T>> {
    const host = await this.#ready();
    const reply = host.guard(caller, () => command(host));
    if (!reply.ok) return reply;
    this.#sockets.wake();
    await (host.hasOpenRun() ? this.#drive.wake() : this.#drive.nudge());
    return reply;
  }

  /** What an agent that is data declares is not known before (P49). Where it cannot be asked for now, a later wake does. */
  async #learn(): Promise<void> {
    const host = await this.#ready();
    if (host.address.thread === MAIN_THREAD) await host.refreshDefinition();
  }

  /** At start-up and before each alarm is set: a thread that does not exist yet has none. */
  #declare(): void {
    try {
      declareSchedules(this.#open());
    } catch (error) {
      this.#report("schedules_not_declared", error);
    }
  }

  async #erase(): Promise<void> {
    const host = await this.#ready();
    try {
      if (host.isErasing()) await host.continueErasure();
    } catch (error) {
      this.#report("erasure_waits", error);
    }
    this.#sockets.wake();
  }

  async #ready(): Promise<ThreadHost> {
    await this.lifecycle.start();
    return this.#open();
  }

  #open(): ThreadHost {
    if (this.#host !== null) return this.#host;
    const address = fromObjectName(this.ctx.id.name ?? "");
    if (address === null) throw new AppError("not_found", "no such thread");
    return (this.#host = new ThreadHost(address, this.ctx.storage, {
      ...this.#composition,
      notify: async () => this.#push.arm(),
    }));
  }

  /** A runtime that was closed meanwhile has left its work to a newer one. */
  async #work(): Promise<DriveResult> {
    const { runtime } = this.#open();
    const driving = runtime.drive();
    this.#sockets.wake();
    const result = await driving;
    if (runtime.closed === null || !runtime.mode.writable) return result;
    throw new AppError("stale_epoch", runtime.closed, { kind: "unavailable", retryable: true });
  }

  #failed(error: unknown): void {
    this.#host?.runtime.abort("the thread is opened again after a fault");
    this.#host = null;
    this.#report("drive_failed", error);
  }

  #report(event: string, error: unknown): void {
    this.#composition.report({
      event,
      object: this.ctx.id.toString(),
      message: error instanceof Error ? error.message : "unknown",
    });
  }
}
