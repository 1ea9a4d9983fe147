/**
 * SocketProtocol: what is spoken on a socket, as the object that holds the socket sees it. Implemented by
 * `#protocols/websocket`; the object knows commands and strings to send, never a frame's shape.
 *
 * Contract: decoding never throws and bounds size and nesting first (P30, P31). Everything that is encoded is one
 * text message. Ids are stable: a user message has its own id, an answer the id of its run (P26).
 */
import type { Json } from "#shared/json.ts";
import type { Result } from "#shared/result.ts";
import type { Delivery } from "#kernel/events.ts";
import type { Failure, MessageView, StreamFrame } from "./thread-gateway.ts";

/** A user message as a client claims it; only its id and text are looked at. */
export interface ClaimedMessage {
  readonly id: string;
  readonly role: string;
  readonly text: string;
}

export type SocketCommand =
  | {
      readonly type: "chat";
      readonly requestId: string;
      readonly trigger: "submit" | "regenerate";
      /** Untrusted, oldest first. */
      readonly messages: readonly ClaimedMessage[];
      readonly delivery: Delivery;
    }
  | { readonly type: "clear" }
  | { readonly type: "cancel"; readonly streamId: string }
  | { readonly type: "resume"; readonly probeId: string | null }
  | { readonly type: "acknowledge"; readonly streamId: string }
  | { readonly type: "tool_result"; readonly callId: string; readonly output: Json }
  | { readonly type: "tool_error"; readonly callId: string; readonly message: string }
  | { readonly type: "tool_approval"; readonly callId: string; readonly approved: boolean }
  | { readonly type: "set_state"; readonly state: Json }
  | { readonly type: "rpc"; readonly id: string; readonly method: string }
  /** Means something to other servers and nothing here. */
  | { readonly type: "none" };

/** `close` is the code to close with, after the error was told; null keeps the socket. */
export interface FrameRefusal {
  readonly failure: Failure;
  readonly close: number | null;
}

/** A call of a live run that waits for a person or for the client itself. */
export interface OpenApproval {
  readonly callId: string;
  readonly approvalId: string;
  readonly kind: "tool" | "question";
}

export type StreamOutcome = "completed" | "error" | "aborted" | "skipped" | "recovering";

export interface StreamStart {
  readonly id: string;
  readonly runId: string;
  /** From the run's beginning, for a reader that comes to it late. */
  readonly replay: boolean;
  /** Follows on what the reader already has of this answer. */
  readonly continuation: boolean;
}

/** One run's answer as one stream to one reader. Stateful; nothing is sent after its end. */
export interface ChatStream {
  readonly id: string;
  readonly runId: string;
  /** Some text of the open attempt went out, which a discard has to take back. */
  readonly showsPartialText: boolean;
  push(frame: StreamFrame): readonly string[];
  /** The run has not ended, this stream does: a person has to act, or another stream takes over. */
  end(outcome: StreamOutcome): readonly string[];
}

export interface SocketProtocol {
  decode(data: string | ArrayBuffer): Result<SocketCommand, FrameRefusal>;
  /** Messages of a chat, oldest first. */
  chatMessages(
    views: readonly MessageView[],
    open: readonly OpenApproval[],
  ): readonly { readonly id: string; readonly [field: string]: Json }[];
  openStream(start: StreamStart): ChatStream;

  identity(
    names: { readonly agent: string; readonly thread: string },
    stateFollows: boolean,
  ): string;
  state(state: Json): string;
  stateRefused(failure: Failure): string;
  noServers(): string;
  messages(messages: readonly Json[], connect: boolean): string;
  messageUpdated(message: Json): string;
  cleared(): string;
  resuming(streamId: string, probeId: string | null): string;
  nothingToResume(probeId: string | null): string;
  /** A request that ends without a stream. */
  requestEnded(requestId: string, outcome: StreamOutcome): string;
  requestRefused(requestId: string, failure: Failure): string;
  rpcRefused(id: string, method: string): string;
  /** What no other frame can tell. */
  refusal(failure: Failure): string;
}
