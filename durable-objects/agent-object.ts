/**
 * AgentObject: one thread as a Durable Object on the Agents SDK. Thin: storage, alarms and RPC.
 *
 * The SDK gives the base class, its lifecycle and its alarm queue; the work is the runtime's (#runner), and who may ask
 * is decided in ./agent/access.ts. Native RPC does not pass through `fetch`, so every method first awaits start-up.
 */
import { Agent } from "agents";
import type { Receipt } from "#kernel/commands.ts";
import type {
  Caller,
  ChatSnapshot,
  DecideApproval,
  EditMessage,
  FileUpload,
  MessagePageRequest,
  PageRequest,
  Regenerate,
  Reply,
  SendMessage,
  ThreadStub,
  ThreadView,
} from "#ports/thread-gateway.ts";
import type { FileStat } from "#ports/workspace.ts";
import type { DriveResult } from "#runner/thread-runtime.ts";
import { AppError } from "#shared/errors.ts";
import { fromObjectName } from "#shared/ids.ts";
import type { Json } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import type { ThreadComposition } from "./agent/composition.ts";
import * as approvals from "./agent/approvals.ts";
import { checkScope } from "./agent/access.ts";
import { DriveCapability } from "./agent/drive-capability.ts";
import { toByteStream } from "./agent/frame-stream.ts";
import { replyWith } from "./agent/refusals.ts";
import { takeSnapshot } from "./agent/sockets/snapshot.ts";
import { SocketCapability } from "./agent/sockets/socket-capability.ts";
import { SocketHub } from "./agent/sockets/socket-hub.ts";
import { storeTicket } from "./agent/sockets/tickets.ts";
import { ThreadHost } from "./agent/thread-host.ts";
import * as branches from "./agent/branch-commands.ts";
import * as commands from "./agent/thread-commands.ts";
import * as reads from "./agent/thread-reader.ts";

/**
 * A composition root extends it and gives `compose`. Static, because an instance's methods can be called over RPC.
 */
export class ThreadAgent<E extends Cloudflare.Env = Cloudflare.Env>
  extends Agent<E>
  implements ThreadStub
{
  static readonly compose: (env: never) => ThreadComposition = () => {
    throw new AppError("config_invalid", "this class has no composition", { kind: "faulted" });
  };
  readonly #composition: ThreadComposition;
  readonly #drive: DriveCapability;
  readonly #sockets: SocketHub;
  #host: ThreadHost | null = null;

  constructor(ctx: DurableObjectState, env: E) {
    super(ctx, env);
    // The subclass takes the environment of its own deployment.
    const compose = new.target.compose as (env: E) => ThreadComposition;
    this.#composition = compose(env);
    this.#drive = new DriveCapability(
      {
        hasOpenRun: () => this.#open().hasOpenRun(),
        waitsUntil: () => this.#open().waitsUntil(),
        drive: () => this.#work(),
        drainOutbox: () => this.#open().drainOutbox(),
        now: () => this.#composition.clock.now(),
        failed: (error) => this.#failed(error),
      },
      this.#composition.heartbeatMs,
    );
    this.#sockets = new SocketHub({
      ctx,
      protocol: this.#composition.socketProtocol,
      open: () => this.#open(),
      thread: this,
      failed: (error) => this.#report("socket_failed", error),
    });
    this.lifecycle.use(this.#drive).use(new SocketCapability(this.#sockets));
  }

  /** Upgrades of the gateway's own making; nothing of the SDK's is reached over HTTP. */
  override async fetch(request: Request): Promise<Response> {
    await this.#ready();
    return this.#sockets.accept(request);
  }

  async storeTicket(
    caller: Caller,
    ticket: { readonly ticket: string; readonly expiresAt: number },
  ): Promise<Reply<null>> {
    return this.#read(caller, (host) => storeTicket(host, caller, ticket));
  }

  async chatSnapshot(caller: Caller): Promise<Reply<ChatSnapshot>> {
    return this.#read(caller, (host) => ok(takeSnapshot(host)));
  }

  async create(
    caller: Caller,
    title: string | null,
    idempotencyKey: string | null,
  ): Promise<Reply<ThreadView>> {
    const host = await this.#ready();
    const reply = commands.create(host, caller, { title, idempotencyKey });
    if (reply.ok) await this.#drive.nudge();
    return reply;
  }

  async view(caller: Caller): Promise<Reply<ThreadView>> {
    return this.#read(caller, (host) => ok(reads.viewThread(host)));
  }

  async send(caller: Caller, message: SendMessage, key: string | null): Promise<Reply<Receipt>> {
    return this.#begin(caller, (host) =>
      commands.send(host, caller, { message, idempotencyKey: key }),
    );
  }

  async cancel(caller: Caller, runId: string, reason: string): Promise<Reply<Receipt>> {
    return this.#command(caller, (host) => commands.cancel(host, caller, { runId, reason }));
  }

  async regenerate(caller: Caller, request: Regenerate): Promise<Reply<Receipt>> {
    return this.#begin(caller, (host) => branches.regenerate(host, caller, request));
  }

  async edit(caller: Caller, request: EditMessage): Promise<Reply<Receipt>> {
    return this.#begin(caller, (host) => branches.edit(host, caller, request));
  }

  async clearWindow(caller: Caller, idempotencyKey: string | null): Promise<Reply<Receipt>> {
    return this.#command(caller, (host) => branches.clear(host, caller, idempotencyKey));
  }

  async branches(caller: Caller): ReturnType<ThreadStub["branches"]> {
    return this.#read(caller, (host) => ok(reads.listBranches(host)));
  }

  async selectBranch(caller: Caller, branch: string, key: string | null): Promise<Reply<Receipt>> {
    return this.#command(caller, (host) =>
      branches.select(host, caller, { branch, idempotencyKey: key }),
    );
  }

  async approvals(
    caller: Caller,
    page: PageRequest & { readonly state: "open" | "all" },
  ): ReturnType<ThreadStub["approvals"]> {
    return this.#read(caller, (host) => ok(approvals.listApprovals(host, page)));
  }

  async approval(caller: Caller, approvalId: string): ReturnType<ThreadStub["approval"]> {
    return this.#read(caller, (host) => approvals.readApproval(host, approvalId));
  }

  async decide(
    caller: Caller,
    decision: DecideApproval,
    idempotencyKey: string | null,
  ): ReturnType<ThreadStub["decide"]> {
    return this.#command(caller, (host) => {
      const allowed = approvals.mayDecide(host, caller);
      return allowed.ok ? approvals.decide(host, caller, { decision, idempotencyKey }) : allowed;
    });
  }

  async putState(caller: Caller, state: Json, key: string | null): Promise<Reply<Receipt>> {
    return this.#command(caller, (host) =>
      commands.putState(host, caller, { state, idempotencyKey: key }),
    );
  }

  async run(caller: Caller, runId: string): ReturnType<ThreadStub["run"]> {
    return this.#read(caller, (host) => reads.readRun(host, runId));
  }

  async runs(caller: Caller, page: PageRequest): ReturnType<ThreadStub["runs"]> {
    return this.#read(caller, (host) => ok(reads.listRuns(host, page)));
  }

  async messages(caller: Caller, page: MessagePageRequest): ReturnType<ThreadStub["messages"]> {
    return this.#read(caller, (host) => reads.listMessages(host, page));
  }

  async events(caller: Caller, page: PageRequest): ReturnType<ThreadStub["events"]> {
    return this.#read(caller, (host) => ok(reads.listEvents(host, page)));
  }

  async export(caller: Caller, page: PageRequest): ReturnType<ThreadStub["export"]> {
    return this.#read(caller, (host) => {
      const scope = checkScope(caller, "audit");
      return scope.ok ? ok(reads.exportEvents(host, page)) : scope;
    });
  }

  async files(caller: Caller, prefix: string): Promise<Reply<readonly FileStat[]>> {
    return this.#read(caller, (host) => ok(host.workspace.reader.list(prefix)));
  }

  async readFile(
    caller: Caller,
    path: string,
    range: { readonly offset: number; readonly limit: number },
  ): Promise<Reply<reads.FileContent>> {
    return this.#read(caller, (host) => reads.readFile(host, path, range));
  }

  async writeFile(caller: Caller, file: FileUpload): Promise<Reply<commands.FileWritten>> {
    return this.#command(caller, (host) => commands.writeFile(host, caller, file));
  }

  async deleteFile(caller: Caller, path: string): Promise<Reply<Receipt>> {
    return this.#command(caller, (host) => commands.deleteFile(host, caller, path));
  }

  async stream(
    caller: Caller,
    options: Parameters<ThreadStub["stream"]>[1],
  ): Promise<Reply<ReadableStream<Uint8Array>>> {
    return this.#read(caller, (host) => {
      const cursor = reads.checkCursor(host, options.from);
      if (!cursor.ok) return cursor;
      const subscription = host.runtime.subscribe({ from: options.from, deltas: options.deltas });
      return ok(toByteStream(subscription, options.runId));
    });
  }

  async erasePayload(caller: Caller, seq: number): Promise<Reply<{ readonly erased: number }>> {
    const host = await this.#ready();
    const allowed = host.guard(caller, () => checkScope(caller, "erase"));
    if (!allowed.ok) return allowed;
    try {
      return await commands.erase(host, seq);
    } catch (error) {
      return replyWith(error);
    }
  }

  async #read<T>(caller: Caller, read: (host: ThreadHost) => Reply<T>): Promise<Reply<T>> {
    const host = await this.#ready();
    return host.guard(caller, () => read(host));
  }

  /** A command that begins a run, which needs to know with what. */
  async #begin<T>(caller: Caller, command: (host: ThreadHost) => Reply<T>): Promise<Reply<T>> {
    const known = await (await this.#ready()).refreshDefinition();
    return known.ok ? this.#command(caller, command) : known;
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

  async #ready(): Promise<ThreadHost> {
    await this.lifecycle.start();
    return this.#open();
  }

  #open(): ThreadHost {
    if (this.#host !== null) return this.#host;
    const address = fromObjectName(this.ctx.id.name ?? "");
    if (address === null) throw new AppError("not_found", "no such thread");
    return (this.#host = new ThreadHost(address, this.ctx.storage, this.#composition));
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
