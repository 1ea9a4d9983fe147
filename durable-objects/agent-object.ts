/**
 * AgentObject: what can be asked of one thread, as methods of its Durable Object. Thin: each checks who asks and hands over.
 *
 * Schedules are ./agent/schedule-object.ts; lifecycle, alarms and sockets are ./agent/thread-object.ts; who may ask is decided in ./agent/access.ts.
 */
import type { LateUsage } from "#ports/spend.ts";
import type { Receipt } from "#kernel/commands.ts";
import type {
  Caller,
  ChatSnapshot,
  DecideApproval,
  EditMessage,
  EraseContent,
  ErasureView,
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
import type { Json } from "#shared/json.ts";
import { ok } from "#shared/result.ts";
import * as approvals from "./agent/approvals.ts";
import { checkScope } from "./agent/access.ts";
import * as audit from "./agent/audit.ts";
import { requestErasure, viewErasure } from "./agent/erasure/erasure-commands.ts";
import { toByteStream } from "./agent/frame-stream.ts";
import { stateLease } from "./agent/leases.ts";
import { replyWith } from "./agent/refusals.ts";
import { takeSnapshot } from "./agent/sockets/snapshot.ts";
import { storeTicket } from "./agent/sockets/tickets.ts";
import { DeliveringThread } from "./agent/delivery-object.ts";
import { ACCESS, STUB } from "./agent/thread-object.ts";
import * as halts from "./agent/halt-commands.ts";
import * as branches from "./agent/branch-commands.ts";
import * as commands from "./agent/thread-commands.ts";
import * as reads from "./agent/thread-reader.ts";
import { correctUsage } from "./agent/usage-commands.ts";

/** A composition root extends it and gives `compose`. */
export class ThreadAgent<E extends Cloudflare.Env = Cloudflare.Env>
  extends DeliveringThread<E>
  implements ThreadStub
{
  override [STUB](): ThreadStub {
    return this;
  }

  async storeTicket(
    caller: Caller,
    ticket: Parameters<ThreadStub["storeTicket"]>[1],
  ): Promise<Reply<null>> {
    return this[ACCESS].read(caller, (host) => storeTicket(host, caller, ticket));
  }

  async chatSnapshot(caller: Caller): Promise<Reply<ChatSnapshot>> {
    return this[ACCESS].read(caller, (host) => ok(takeSnapshot(host)));
  }

  async create(
    caller: Caller,
    title: string | null,
    idempotencyKey: string | null,
  ): Promise<Reply<ThreadView>> {
    const host = await this[ACCESS].ready();
    const reply = commands.create(host, caller, { title, idempotencyKey });
    if (reply.ok) await this[ACCESS].nudge();
    return reply;
  }

  async view(caller: Caller): Promise<Reply<ThreadView>> {
    return this[ACCESS].read(caller, (host) => ok(reads.viewThread(host)));
  }

  async send(caller: Caller, message: SendMessage, key: string | null): Promise<Reply<Receipt>> {
    return this[ACCESS].begin(caller, (host) =>
      commands.send(host, caller, { message, idempotencyKey: key }),
    );
  }

  async cancel(caller: Caller, runId: string, reason: string): Promise<Reply<Receipt>> {
    return this[ACCESS].command(caller, (host) => commands.cancel(host, caller, { runId, reason }));
  }

  async halt(caller: Caller, reason: string, key: string | null): Promise<Reply<Receipt>> {
    return this[ACCESS].command(caller, (host) => halts.halt(host, caller, { reason, key }));
  }

  async resume(caller: Caller, reason: string | null, key: string | null): Promise<Reply<Receipt>> {
    return this[ACCESS].command(caller, (host) => halts.resume(host, caller, { reason, key }));
  }

  async regenerate(caller: Caller, request: Regenerate): Promise<Reply<Receipt>> {
    return this[ACCESS].begin(caller, (host) => branches.regenerate(host, caller, request));
  }

  async edit(caller: Caller, request: EditMessage): Promise<Reply<Receipt>> {
    return this[ACCESS].begin(caller, (host) => branches.edit(host, caller, request));
  }

  async clearWindow(caller: Caller, idempotencyKey: string | null): Promise<Reply<Receipt>> {
    return this[ACCESS].command(caller, (host) => branches.clear(host, caller, idempotencyKey));
  }

  async branches(caller: Caller): ReturnType<ThreadStub["branches"]> {
    return this[ACCESS].read(caller, (host) => ok(reads.listBranches(host)));
  }

  async selectBranch(caller: Caller, branch: string, key: string | null): Promise<Reply<Receipt>> {
    return this[ACCESS].command(caller, (host) =>
      branches.select(host, caller, { branch, idempotencyKey: key }),
    );
  }

  async approvals(
    caller: Caller,
    page: PageRequest & { readonly state: "open" | "all" },
  ): ReturnType<ThreadStub["approvals"]> {
    return this[ACCESS].read(caller, (host) => ok(approvals.listApprovals(host, page)));
  }

  async approval(caller: Caller, approvalId: string): ReturnType<ThreadStub["approval"]> {
    return this[ACCESS].read(caller, (host) => approvals.readApproval(host, approvalId));
  }

  async decide(
    caller: Caller,
    decision: DecideApproval,
    idempotencyKey: string | null,
  ): ReturnType<ThreadStub["decide"]> {
    return this[ACCESS].command(caller, (host) =>
      approvals.decide(host, caller, { decision, idempotencyKey }),
    );
  }

  async putState(caller: Caller, state: Json, key: string | null): Promise<Reply<Receipt>> {
    return this[ACCESS].command(caller, (host) =>
      commands.putState(host, caller, { state, idempotencyKey: key }),
    );
  }

  async run(caller: Caller, runId: string): ReturnType<ThreadStub["run"]> {
    return this[ACCESS].read(caller, (host) => reads.readRun(host, runId));
  }

  async runs(caller: Caller, page: PageRequest): ReturnType<ThreadStub["runs"]> {
    return this[ACCESS].read(caller, (host) => ok(reads.listRuns(host, page)));
  }

  async messages(caller: Caller, page: MessagePageRequest): ReturnType<ThreadStub["messages"]> {
    return this[ACCESS].read(caller, (host) => reads.listMessages(host, page));
  }

  async events(caller: Caller, page: PageRequest): ReturnType<ThreadStub["events"]> {
    return this[ACCESS].read(caller, (host) => reads.listEvents(host, page));
  }

  async export(caller: Caller, page: PageRequest): ReturnType<ThreadStub["export"]> {
    return this[ACCESS].read(caller, (host) => {
      const scope = checkScope(caller, "audit");
      return scope.ok ? reads.exportEvents(host, page) : scope;
    });
  }

  async auditBounds(caller: Caller): ReturnType<ThreadStub["auditBounds"]> {
    return this[ACCESS].read(caller, (host) => {
      const scope = checkScope(caller, "audit");
      return scope.ok ? ok(audit.bounds(host)) : scope;
    });
  }

  async verifyLog(caller: Caller, after: number): ReturnType<ThreadStub["verifyLog"]> {
    return audit.verify(await this[ACCESS].ready(), caller, after);
  }

  async explainRun(
    caller: Caller,
    request: PageRequest & { readonly runId: string },
  ): ReturnType<ThreadStub["explainRun"]> {
    return this[ACCESS].read(caller, (host) => audit.explain(host, caller, request));
  }

  async files(caller: Caller, prefix: string): Promise<Reply<readonly FileStat[]>> {
    return this[ACCESS].read(caller, (host) => ok(host.workspace.reader.list(prefix)));
  }

  async readFile(
    caller: Caller,
    path: string,
    range: { readonly offset: number; readonly limit: number },
  ): Promise<Reply<reads.FileContent>> {
    return this[ACCESS].read(caller, (host) => reads.readFile(host, path, range));
  }

  async writeFile(caller: Caller, file: FileUpload): Promise<Reply<commands.FileWritten>> {
    return this[ACCESS].command(caller, (host) => commands.writeFile(host, caller, file));
  }

  async deleteFile(caller: Caller, path: string): Promise<Reply<Receipt>> {
    return this[ACCESS].command(caller, (host) => commands.deleteFile(host, caller, path));
  }

  async stream(
    caller: Caller,
    options: Parameters<ThreadStub["stream"]>[1],
  ): Promise<Reply<ReadableStream<Uint8Array>>> {
    return this[ACCESS].read(caller, (host) => {
      const cursor = reads.checkCursor(host, options.from);
      if (!cursor.ok) return cursor;
      const subscription = host.runtime.subscribe({ from: options.from, deltas: options.deltas });
      return ok(toByteStream(subscription, options.runId));
    });
  }

  async eraseContent(caller: Caller, request: EraseContent): Promise<Reply<ErasureView>> {
    const access = this[ACCESS];
    const asked = await access.command(caller, (host) => requestErasure(host, caller, request));
    if (!asked.ok || asked.value.status === "done") return asked;
    await access.erase();
    return this.erasure(caller, request.runId);
  }

  async erasure(caller: Caller, runId: string | null): Promise<Reply<ErasureView>> {
    return this[ACCESS].read(caller, (host) => viewErasure(host, caller, runId));
  }

  async correctUsage(caller: Caller, late: LateUsage): Promise<Reply<Receipt>> {
    await (await this[ACCESS].ready()).prices.refresh?.();
    return this[ACCESS].command(caller, (host) => {
      const scope = checkScope(caller, "operate");
      return scope.ok ? correctUsage(host, caller, late) : scope;
    });
  }

  async checkSpend(caller: Caller, replace: boolean): ReturnType<ThreadStub["checkSpend"]> {
    const host = await this[ACCESS].ready();
    const allowed = host.guard(caller, () => checkScope(caller, "operate"));
    return allowed.ok ? host.checkSpend(replace) : allowed;
  }

  async askLease(leaseId: string, decline: boolean): ReturnType<ThreadStub["askLease"]> {
    const statement = await stateLease(await this[ACCESS].ready(), { leaseId, decline });
    if (statement.type === "declined") await this[ACCESS].nudge();
    return statement;
  }

  async erasePayload(caller: Caller, seq: number): Promise<Reply<{ readonly erased: number }>> {
    const host = await this[ACCESS].ready();
    const allowed = host.guard(caller, () => checkScope(caller, "erase"));
    if (!allowed.ok) return allowed;
    try {
      return await commands.erase(host, seq);
    } catch (error) {
      return replyWith(error);
    }
  }
}
