/**
 * ThreadAccess: the one way from a protocol to a thread, and the order in which a thread comes to be.
 *
 * A1 The object is named from the caller's own tenant (Z3); its owner check decides, not the directory (Z4).
 * A2 A thread is registered in the directory before the command that creates it is acknowledged (Z7). An object that
 *    answers has been registered, so a command for a thread that exists never waits for the directory.
 * A3 Whoever registered first is the owner. Registering does not create: a registration whose creation was cut off
 *    is completed by its owner's next command and answers `not_found` to everybody else.
 */
import type { Clock } from "#ports/clock.ts";
import type { Directory } from "#ports/directory.ts";
import type {
  Caller,
  Failure,
  FileUpload,
  Reply,
  SendMessage,
  ThreadGateway,
  ThreadStub,
  ThreadView,
} from "#ports/thread-gateway.ts";
import type { ScheduleRequest, ScheduleView } from "#ports/schedule-stub.ts";
import type { AgentName, ThreadId } from "#shared/ids.ts";
import { SOCKET_PASS_HEADER, type SocketOpening } from "#ports/socket-pass.ts";
import { err, ok } from "#shared/result.ts";

export interface ThreadPlace {
  readonly agent: AgentName;
  readonly thread: ThreadId;
}
export interface NewThread {
  readonly title: string | null;
  readonly idempotencyKey: string | null;
}
export type MessageSent = Awaited<ReturnType<ThreadStub["send"]>>;
export type FileWritten = Awaited<ReturnType<ThreadStub["writeFile"]>>;

export interface ThreadAccessDeps {
  readonly gateway: ThreadGateway;
  readonly directory: Directory;
  readonly clock: Clock;
}

export class ThreadAccess {
  readonly #deps: ThreadAccessDeps;

  constructor(deps: ThreadAccessDeps) {
    this.#deps = deps;
  }

  stub(caller: Caller, { agent, thread }: ThreadPlace): ThreadStub {
    return this.#deps.gateway.thread({ tenant: caller.tenant, agent, thread });
  }

  async create(caller: Caller, place: ThreadPlace, thread: NewThread): Promise<Reply<ThreadView>> {
    const { directory, clock } = this.#deps;
    const now = clock.now();
    const record = await directory.register({
      tenant: caller.tenant,
      agent: place.agent,
      thread: place.thread,
      owner: caller.id,
      title: thread.title,
      createdAt: now,
      lastSeq: 0,
      updatedAt: now,
    });
    if (record.owner !== caller.id) return err(caller.kind === "user" ? MISSING : TAKEN);
    return this.stub(caller, place).create(caller, thread.title, thread.idempotencyKey);
  }

  /** Creates the thread when it is missing, owned by the caller, so that one call starts a conversation. */
  send(
    caller: Caller,
    place: ThreadPlace,
    command: { readonly message: SendMessage; readonly idempotencyKey: string | null },
  ): Promise<MessageSent> {
    return this.#orCreate(caller, place, (stub) =>
      stub.send(caller, command.message, command.idempotencyKey),
    );
  }

  /** Creates the thread when it is missing: a file may come before the first message about it. */
  writeFile(caller: Caller, place: ThreadPlace, file: FileUpload): Promise<FileWritten> {
    return this.#orCreate(caller, place, (stub) => stub.writeFile(caller, file));
  }

  /** Creates the thread when it is missing: what it does by itself may come before anything that is said. */
  putSchedule(
    caller: Caller,
    place: ThreadPlace,
    request: ScheduleRequest,
  ): Promise<Reply<ScheduleView>> {
    return this.#orCreate(caller, place, (stub) => stub.putSchedule(caller, request));
  }

  /** Creates the thread when it is missing: a page asks for a ticket before anything was said. */
  storeTicket(
    caller: Caller,
    place: ThreadPlace,
    ticket: Parameters<ThreadStub["storeTicket"]>[1],
  ): Promise<Reply<null>> {
    return this.#orCreate(caller, place, (stub) => stub.storeTicket(caller, ticket));
  }

  /** A socket of the thread: the upgrade is sent on with the pass beside it, and 101 passes through. */
  async connect(
    { address, pass }: SocketOpening,
    { headers }: { readonly headers: Headers },
  ): Promise<Reply<Response>> {
    headers.set(SOCKET_PASS_HEADER, JSON.stringify(pass));
    const open = async (stub: ThreadStub): Promise<Reply<Response>> => {
      const response = await stub.fetch(new Request("https://thread.invalid/socket", { headers }));
      return response.status === 101 ? ok(response) : err(await response.json<Failure>());
    };
    return pass.type === "caller"
      ? this.#orCreate(pass.caller, address, open)
      : open(this.#deps.gateway.thread(address));
  }

  async #orCreate<T>(
    caller: Caller,
    place: ThreadPlace,
    command: (stub: ThreadStub) => Promise<Reply<T>>,
  ): Promise<Reply<T>> {
    const stub = this.stub(caller, place);
    const first = await command(stub);
    if (first.ok || first.error.code !== "not_found") return first;
    const created = await this.create(caller, place, { title: null, idempotencyKey: null });
    // `conflict`: another request of the same owner created it meanwhile, which is as good.
    if (!created.ok && created.error.code !== "conflict") return created;
    return command(stub);
  }
}

const MISSING = {
  code: "not_found",
  message: "There is no such thread.",
  detail: {},
  retryable: false,
} as const;
const TAKEN = {
  code: "conflict",
  message: "A thread of this id exists.",
  detail: {},
  retryable: false,
} as const;
