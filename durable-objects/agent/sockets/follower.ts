/**
 * Follower: brings one connection up to date with its thread and keeps it so while a run is live.
 *
 * A subscription and a place in it: nothing is buffered for a reader. Ends when nothing more can come without a command,
 * so that an idle thread with open sockets hibernates (P35).
 */
import { isAtRest } from "#kernel/state.ts";
import { isRunEnd } from "#kernel/run-events.ts";
import type { ChatStream, SocketProtocol, StreamOutcome } from "#ports/socket-protocol.ts";
import type { EventView, StreamFrame } from "#ports/thread-gateway.ts";
import type { StreamSubscription } from "#runner/stream.ts";
import { isJsonObject, type Json } from "#shared/json.ts";
import type { ThreadHost } from "#durable-objects/agent/thread-host.ts";
import type { Authority } from "./authority.ts";
import { NO_STREAM, type Connection } from "./connection.ts";
import { takeSnapshot } from "./snapshot.ts";

export interface FollowerDeps {
  readonly protocol: SocketProtocol;
  /** Asked before anything is told (P37). */
  readonly authority: Authority;
}

export class Follower {
  readonly #connection: Connection;
  readonly #host: ThreadHost;
  readonly #protocol: SocketProtocol;
  readonly #authority: Authority;
  readonly #subscription: StreamSubscription;
  #stopped = false;

  constructor(connection: Connection, host: ThreadHost, { protocol, authority }: FollowerDeps) {
    this.#connection = connection;
    this.#host = host;
    this.#protocol = protocol;
    this.#authority = authority;
    this.#subscription = host.runtime.subscribe({
      from: { seq: connection.seq, attempt: 0, offset: 0 },
      deltas: true,
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#subscription.close();
  }

  async run(): Promise<void> {
    try {
      for await (const frame of this.#subscription) {
        if (this.#authority.isDue(this.#connection)) await this.#authority.assure(this.#connection);
        if (this.#stopped || !this.#connection.isOpen) return;
        this.#take(frame);
        if (this.#isDone(frame)) return;
      }
    } finally {
      this.#subscription.close();
      if (!this.#stopped) this.#connection.persist();
    }
  }

  #take(frame: StreamFrame): void {
    const { stream } = this.#connection;
    if (frame.type === "event") {
      this.#connection.seq = frame.event.header.seq;
      this.#event(frame, frame.event);
    } else if (stream.type === "open") {
      const { runId, showsPartialText } = stream.stream;
      if (frame.type === "discard" && frame.runId === runId && showsPartialText) {
        this.#endStream(stream.stream, "recovering");
        this.#offer({ id: `${runId}.r${frame.attempt}`, runId, from: null });
      } else this.#connection.send(...stream.stream.push(frame));
    }
  }

  #event(frame: StreamFrame, event: EventView): void {
    const { header } = event;
    const isNew = header.seq > this.#connection.quietUntil;
    if (isNew) this.#tell(event);
    if (header.run === null) return;
    if (header.type === "run.started" && isNew) this.#open(header.run);
    const { stream } = this.#connection;
    const isMine = stream.type === "open" && stream.stream.runId === header.run;
    if (isMine) this.#connection.send(...stream.stream.push(frame));
    if (isRunEnd(header.type)) this.#ended(header.run, isMine);
    else if (this.#waitsAt(header.seq, header.run)) this.#wait(header.run, header.seq);
    else if (isNew) this.#goOn(header.run, header.type);
  }

  /** What is not part of an answer. */
  #tell({ header, payload }: EventView): void {
    const connection = this.#connection;
    const content = isJsonObject(payload) ? payload : {};
    switch (header.type) {
      case "state.set":
        if (connection.ownStates > 0 && header.actor === connection.caller.id) {
          connection.ownStates -= 1;
        } else connection.send(this.#protocol.state(content["state"] ?? null));
        break;
      case "input.received":
        if (!connection.own.delete(String(content["messageId"]))) this.#snapshot();
        break;
      case "branch.started":
        if (content["reason"] === "clear") connection.send(this.#protocol.cleared());
        else this.#snapshot();
        break;
      case "branch.selected":
        this.#snapshot();
        break;
      default:
    }
  }

  /** A run that begins while this client is there streams to it at once. */
  #open(runId: string): void {
    const id = this.#connection.requestOf(runId) ?? runId;
    const stream = this.#protocol.openStream({ id, runId, replay: false, continuation: false });
    this.#connection.stream = { type: "open", stream, from: null };
  }

  #ended(runId: string, streamed: boolean): void {
    const requestId = this.#connection.requestOf(runId);
    const { stream } = this.#connection;
    if (!streamed) {
      // Told the end without the answer: a message cancelled in the queue, or a stream that was never taken up.
      if (requestId !== null) {
        this.#connection.send(this.#protocol.requestEnded(requestId, "aborted"));
      }
      if (stream.type === "offered" && stream.runId === runId) this.#snapshot();
    }
    this.#connection.ended(runId);
  }

  #wait(runId: string, seq: number): void {
    const { stream } = this.#connection;
    if (stream.type === "open" && stream.stream.runId === runId) {
      this.#endStream(stream.stream, "completed");
    } else if (seq > this.#connection.quietUntil) this.#updateAnswer(runId);
    this.#connection.stream = NO_STREAM;
    this.#connection.waiting = { runId, seq };
  }

  /** Before its run has ended: the client's request is answered, and is not told of the run again (P28). */
  #endStream(stream: ChatStream, outcome: StreamOutcome): void {
    this.#connection.send(...stream.end(outcome));
    this.#connection.answered(stream.runId);
  }

  /** The wait of a run that this client has seen is over: what follows is a stream of its own. */
  #goOn(runId: string, type: string): void {
    const { waiting, stream } = this.#connection;
    if (waiting?.runId !== runId || stream.type !== "none" || type === "approval.refused") return;
    this.#offer({ id: `${runId}.${waiting.seq}`, runId, from: waiting.seq });
  }

  #offer(offer: {
    readonly id: string;
    readonly runId: string;
    readonly from: number | null;
  }): void {
    this.#connection.stream = { type: "offered", ...offer };
    this.#connection.send(this.#protocol.resuming(offer.id, null));
  }

  #updateAnswer(runId: string): void {
    const message = this.#messages().find(({ id }) => id === runId);
    if (message !== undefined) this.#connection.send(this.#protocol.messageUpdated(message));
  }

  #snapshot(): void {
    this.#connection.send(this.#protocol.messages(this.#messages(), false));
  }

  #messages(): readonly ({ readonly id: string } & { readonly [field: string]: Json })[] {
    const { views, open } = takeSnapshot(this.#host);
    return this.#protocol.chatMessages(views, open);
  }

  #waitsAt(seq: number, runId: string): boolean {
    const { state, seq: head } = this.#host.runtime;
    return seq === head && state.run?.runId === runId && isAtRest(state);
  }

  #isDone(frame: StreamFrame): boolean {
    if (frame.type === "delta" || frame.type === "discard") return false;
    const { state, seq } = this.#host.runtime;
    return this.#connection.seq >= seq && isAtRest(state);
  }
}
