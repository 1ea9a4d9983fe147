/**
 * SocketHub: the sockets of one thread: who may open one, what each is told, and when it is followed.
 *
 * P20, P22 a socket stands for the caller of its pass. P32 one thread holds a bounded number. P36 the authority of a
 * socket ends after an hour: the client comes back with a new ticket. P37 and before that, when its key or token does.
 */
import { SOCKET_PASS_HEADER, type SocketPass } from "#ports/socket-pass.ts";
import { isWaitingForHumans } from "#kernel/state.ts";
import type { KeyStore } from "#ports/key-store.ts";
import type { SocketProtocol } from "#ports/socket-protocol.ts";
import { type Failure, type Reply, type ThreadStub } from "#ports/thread-gateway.ts";
import { err, ok } from "#shared/result.ts";
import { NOT_FOUND } from "#durable-objects/agent/access.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import { Authority } from "./authority.ts";
import { Connection, NO_STREAM } from "./connection.ts";
import { Follower } from "./follower.ts";
import { handleCommand, type Following } from "./handle-command.ts";
import { KnownMessages } from "./known-messages.ts";
import { takeSnapshot } from "./snapshot.ts";
import { Tickets, type Bearer } from "./tickets.ts";

export const MAX_SOCKETS = 200;
const TAG = "holdfast";
/** The longest that a user token lives, so that no socket outlives every token of its user. */
const MAX_AUTHORITY_MS = 3_600_000;
const INTERNAL_ERROR = 1011;
const SERVICE_RESTART = 1012;
/** The published clients come back after any code but this one and 4000 to 4999. */
const POLICY_VIOLATION = 1008;
/** Refused frames of one socket after which its client is taken for broken. */
const MAX_REFUSED = 100;

export interface SocketHubDeps {
  readonly ctx: Pick<DurableObjectState, "acceptWebSocket" | "getWebSockets" | "waitUntil">;
  readonly protocol: SocketProtocol;
  readonly keys: Pick<KeyStore, "findById">;
  readonly open: () => ThreadHost;
  /** The thread's own methods: they check, wake and answer as for any other way in. */
  readonly thread: ThreadStub;
  /** Tells the operator. */
  readonly failed: (error: unknown) => void;
}

export class SocketHub implements Following {
  readonly #deps: SocketHubDeps;
  readonly #authority: Authority;
  readonly #connections = new Map<WebSocket, Connection>();
  readonly #followers = new Map<Connection, Follower>();
  readonly #refused = new Map<Connection, number>();
  readonly #known = new KnownMessages();

  constructor(deps: SocketHubDeps) {
    this.#deps = deps;
    const { keys, failed, open } = deps;
    this.#authority = new Authority({ keys, failed, now: () => open().now });
  }

  /** The request is one of the gateway's own making. */
  accept(request: Request): Response {
    const host = this.#deps.open();
    const bearer = this.#bearerOf(request, host);
    if (!bearer.ok) return refusal(bearer.error);
    const access = host.guard(bearer.value.caller, () => ok(null));
    if (!access.ok) return refusal(access.error);
    if (this.#deps.ctx.getWebSockets(TAG).length >= MAX_SOCKETS) {
      const message = `This thread has its ${MAX_SOCKETS} sockets; close one first.`;
      return refusal({ code: "rate_limited", message, detail: {}, retryable: true });
    }
    const { 0: client, 1: server } = new WebSocketPair();
    this.#deps.ctx.acceptWebSocket(server, [TAG]);
    const { seq } = host.runtime;
    const connection = Connection.accept(server, { bearer: bearer.value, seq, now: host.now });
    this.#connections.set(server, connection);
    this.#greet(connection, host);
    // What let it in may be a minute old; the answer is there before the first frame, or nearly.
    this.#deps.ctx.waitUntil(this.#authority.assure(connection));
    return new Response(null, { status: 101, webSocket: client });
  }

  /** False for a socket that is not one of these. */
  async message(socket: WebSocket, data: string | ArrayBuffer): Promise<boolean> {
    const connection = this.#connection(socket);
    if (connection === null) return false;
    const { now } = this.#deps.open();
    if (now - connection.openedAt > MAX_AUTHORITY_MS) {
      connection.close(SERVICE_RESTART, "come back with a new ticket");
      return true;
    }
    if (!connection.heard(now)) this.#refuse(connection, TOO_FAST, null);
    else await this.#handle(connection, data);
    return true;
  }

  /** False for a socket that is not one of these. */
  closed(socket: WebSocket): boolean {
    const connection = this.#connection(socket);
    if (connection === null) return false;
    this.#followers.get(connection)?.stop();
    this.#followers.delete(connection);
    this.#refused.delete(connection);
    this.#connections.delete(socket);
    return true;
  }

  /** After anything was appended, or is about to be: whoever is not followed and has not seen the head is. */
  wake(): void {
    for (const socket of this.#deps.ctx.getWebSockets(TAG)) {
      const connection = this.#connection(socket);
      if (connection !== null) this.follow(connection);
    }
  }

  follow(connection: Connection): void {
    if (this.#followers.has(connection) || !connection.isOpen) return;
    const follower = new Follower(connection, this.#deps.open(), {
      protocol: this.#deps.protocol,
      authority: this.#authority,
    });
    this.#followers.set(connection, follower);
    // What waits for the log has to outlive the event that began it.
    this.#deps.ctx.waitUntil(this.#run(connection, follower));
  }

  /** Opens the stream of a run to this connection from `from`, or from the run's beginning. */
  replay(connection: Connection, stream: Parameters<Following["replay"]>[1]): void {
    const { id, runId, from, replay } = stream;
    const start = this.#deps.open().runs.get(runId)?.startSeq;
    if (start === undefined) return;
    this.#followers.get(connection)?.stop();
    this.#followers.delete(connection);
    connection.quietUntil = Math.max(connection.quietUntil, connection.seq);
    connection.seq = from ?? start - 1;
    const continuation = from !== null;
    const opened = this.#deps.protocol.openStream({ id, runId, replay, continuation });
    connection.stream = { type: "open", stream: opened, from };
    this.follow(connection);
  }

  async #run(connection: Connection, follower: Follower): Promise<void> {
    try {
      await follower.run();
    } catch (error) {
      // The client comes back and resumes; what it saw is in the log.
      this.#deps.failed(error);
      connection.close(INTERNAL_ERROR, "the stream failed");
    } finally {
      if (this.#followers.get(connection) === follower) this.#followers.delete(connection);
    }
    // What was appended while it was ending found it still there.
    if (connection.seq < this.#deps.open().runtime.seq) this.follow(connection);
  }

  async #handle(connection: Connection, data: string | ArrayBuffer): Promise<void> {
    const { protocol, thread } = this.#deps;
    const decoded = protocol.decode(data);
    if (!decoded.ok) {
      this.#refuse(connection, decoded.error.failure, decoded.error.close);
      return;
    }
    await connection.inTurn(async () => {
      if (!(await this.#authority.assure(connection))) return;
      const host = this.#deps.open();
      const session = { hub: this, connection, host, thread, protocol, known: this.#known };
      await handleCommand(session, decoded.value);
      connection.persist();
    });
  }

  #refuse(connection: Connection, failure: Failure, close: number | null): void {
    connection.send(this.#deps.protocol.refusal(failure));
    const refused = (this.#refused.get(connection) ?? 0) + 1;
    this.#refused.set(connection, refused);
    if (close !== null) connection.close(close, failure.code);
    else if (refused > MAX_REFUSED) connection.close(POLICY_VIOLATION, failure.code);
  }

  #greet(connection: Connection, host: ThreadHost): void {
    const { protocol } = this.#deps;
    const { shared, run } = host.runtime.state;
    const snapshot = takeSnapshot(host);
    this.#known.seed(host, snapshot);
    const { views, open } = snapshot;
    // Identity comes last: a client that sends as soon as it is identified must not have its message replaced by these.
    if (shared !== null) connection.send(protocol.state(shared));
    connection.send(
      protocol.noServers(),
      protocol.messages(protocol.chatMessages(views, open), true),
      protocol.identity(host.address, false),
    );
    if (run === null) return;
    if (isWaitingForHumans(run)) {
      connection.waiting = { runId: run.runId, seq: connection.seq };
      connection.persist();
      return;
    }
    connection.stream = { type: "offered", id: run.runId, runId: run.runId, from: null };
    connection.send(protocol.resuming(run.runId, null));
    this.follow(connection);
  }

  #bearerOf(request: Request, host: ThreadHost): Reply<Bearer> {
    const header = request.headers.get(SOCKET_PASS_HEADER);
    if (header === null) return err(NOT_FOUND);
    // Set by the gateway, on a request that has nothing of the client's but its WebSocket headers.
    const pass = JSON.parse(header) as SocketPass;
    if (pass.type === "caller") return ok({ caller: pass.caller, credential: pass.credential });
    const { database, hasher } = host.storage;
    const bearer = new Tickets(database, hasher).redeem(pass.ticket, host.now);
    return bearer === null ? err(TICKET_USED) : ok(bearer);
  }

  #connection(socket: WebSocket): Connection | null {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const restored = Connection.restore(socket);
    if (restored !== null) {
      restored.stream = NO_STREAM;
      this.#connections.set(socket, restored);
    }
    return restored;
  }
}

const TOO_FAST: Failure = {
  code: "rate_limited",
  message: "Too many messages; send fewer a second.",
  detail: {},
  retryable: true,
};
const TICKET_USED: Failure = {
  code: "unauthenticated",
  message: "The ticket was used, or is too old.",
  detail: {},
  retryable: false,
};

function refusal(failure: Failure): Response {
  return Response.json(failure, { status: 400 });
}
