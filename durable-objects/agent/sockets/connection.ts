/**
 * Connection: one socket, what it has seen, and what it is sent.
 *
 * P35 everything that has to outlive hibernation lies in the socket's attachment; nothing here sets a timer.
 * P33 a reader that is sent more than it can have read without ever speaking is cut off and resumes. P34 frames of one
 * client are counted.
 */
import { exhaustive } from "#shared/exhaustive.ts";
import type { ChatStream } from "#ports/socket-protocol.ts";
import type { Credential } from "#ports/key-store.ts";
import type { Caller } from "#ports/thread-gateway.ts";
import type { Bearer } from "./tickets.ts";

/** A platform socket has no sign of backpressure: this is the most that can lie unread before one. */
const MAX_UNHEARD_BYTES = 8 * 1024 * 1024;
const TRY_AGAIN_LATER = 1013;
/** Frames at once, and frames a second after that. */
const BURST = 120;
const FRAMES_PER_SECOND = 20;
/** The attachment of a socket is small (2 KiB): the newest requests of one client. */
const MAX_REQUESTS = 4;

interface Attachment {
  readonly holdfast: 2;
  readonly caller: Caller;
  readonly credential: Credential;
  readonly assuredAt: number;
  readonly openedAt: number;
  readonly seq: number;
  readonly requests: readonly (readonly [runId: string, requestId: string])[];
  readonly waiting: Waiting | null;
}

/** The socket has this run's answer up to `seq`, where it began to wait for a person. */
export interface Waiting {
  readonly runId: string;
  readonly seq: number;
}

export type StreamState =
  | { readonly type: "none" }
  /** Announced; the client's acknowledgement opens it. */
  | {
      readonly type: "offered";
      readonly id: string;
      readonly runId: string;
      /** Where a continuation begins; null for a stream from the run's beginning. */
      readonly from: number | null;
    }
  | { readonly type: "open"; readonly stream: ChatStream; readonly from: number | null };

export const NO_STREAM: StreamState = { type: "none" };

export class Connection {
  readonly credential: Credential;
  readonly openedAt: number;
  readonly #socket: WebSocket;
  /** As of the last time that its credential was asked for. */
  caller: Caller;
  /** When its credential was last known to hold; 0 before that. */
  assuredAt: number;
  /** Last event it was told of. */
  seq: number;
  waiting: Waiting | null;
  stream: StreamState = NO_STREAM;
  /** Events up to here were told before: only a stream that replays wants them. */
  quietUntil = 0;
  /** Ids of messages that this client sent, which it need not be told of. */
  readonly own = new Set<string>();
  /** Its own changes of state that have not come by yet. */
  ownStates = 0;
  readonly #requests: Map<string, string>;
  #unheard = 0;
  #frames = BURST;
  #framesAt = 0;
  /** Frames of one client are handled one after the other. */
  #work: Promise<void> = Promise.resolve();

  constructor(socket: WebSocket, attachment: Omit<Attachment, "holdfast">) {
    this.#socket = socket;
    this.caller = attachment.caller;
    this.credential = attachment.credential;
    this.assuredAt = attachment.assuredAt;
    this.openedAt = attachment.openedAt;
    this.seq = attachment.seq;
    this.waiting = attachment.waiting;
    this.#requests = new Map(attachment.requests);
  }

  static accept(
    socket: WebSocket,
    opening: { bearer: Bearer; seq: number; now: number },
  ): Connection {
    const { bearer, seq, now } = opening;
    const connection = new Connection(socket, {
      ...bearer,
      assuredAt: 0,
      seq,
      openedAt: now,
      requests: [],
      waiting: null,
    });
    connection.persist();
    return connection;
  }

  /** Null for a socket that is not one of ours. */
  static restore(socket: WebSocket): Connection | null {
    // Written by `persist` of this class; other parts of the object mark theirs otherwise.
    const attachment = socket.deserializeAttachment() as Attachment | null;
    return attachment?.holdfast === 2 ? new Connection(socket, attachment) : null;
  }

  persist(): void {
    const attachment: Attachment = {
      holdfast: 2,
      caller: this.caller,
      credential: this.credential,
      assuredAt: this.assuredAt,
      openedAt: this.openedAt,
      seq: this.seq,
      requests: [...this.#requests],
      waiting: this.waiting,
    };
    if (this.isOpen) this.#socket.serializeAttachment(attachment);
  }

  /** Its credential holds, as was known at `at`. */
  assure(caller: Caller, at: number): void {
    this.caller = caller;
    this.assuredAt = at;
    this.persist();
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  send(...frames: readonly string[]): void {
    for (const frame of frames) {
      if (!this.isOpen) return;
      this.#unheard += frame.length;
      this.#socket.send(frame);
      if (this.#unheard > MAX_UNHEARD_BYTES)
        this.close(TRY_AGAIN_LATER, "read what was sent, then resume");
    }
  }

  close(code: number, reason: string): void {
    if (this.isOpen) this.#socket.close(code, reason);
  }

  /** Whether a frame that came now may be handled. */
  heard(now: number): boolean {
    this.#unheard = 0;
    const gained = (Math.max(0, now - this.#framesAt) / 1_000) * FRAMES_PER_SECOND;
    this.#frames = Math.min(BURST, this.#frames + gained);
    this.#framesAt = now;
    if (this.#frames < 1) return false;
    this.#frames -= 1;
    return true;
  }

  inTurn(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work, work);
    return this.#work;
  }

  /** Under which id this client waits for that run. */
  requestOf(runId: string): string | null {
    return this.#requests.get(runId) ?? null;
  }
  runOf(requestId: string): string | null {
    return [...this.#requests].find(([, id]) => id === requestId)?.[0] ?? null;
  }
  expect(runId: string, requestId: string): void {
    this.#requests.delete(runId);
    this.#requests.set(runId, requestId);
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > MAX_REQUESTS && oldest !== undefined) this.#requests.delete(oldest);
  }
  answered(runId: string): void {
    this.#requests.delete(runId);
  }
  ended(runId: string): void {
    this.answered(runId);
    if (this.waiting?.runId === runId) this.waiting = null;
    if (this.streamRun === runId) this.stream = NO_STREAM;
  }

  get streamRun(): string | null {
    switch (this.stream.type) {
      case "none":
        return null;
      case "offered":
        return this.stream.runId;
      case "open":
        return this.stream.stream.runId;
      default:
        return exhaustive(this.stream);
    }
  }
}
