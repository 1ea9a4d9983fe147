/**
 * Push: addresses that are told how one run goes on, kept in the run's thread, where its erasure reaches them.
 *
 * Secrets of a receiver go in and never come out again: a view does not hold them.
 */
import type { ThreadAddress } from "#shared/ids.ts";
import type { Caller, EventView, Reply } from "./thread-gateway.ts";
import type { OutgoingPost } from "./webhook-sender.ts";

export interface PushTarget {
  readonly url: string;
  /** Sent back to the receiver as it is; null for none. */
  readonly token: string | null;
  /** A scheme of HTTP with its credentials; null for none. */
  readonly authentication: {
    readonly scheme: string;
    readonly credentials: string | null;
  } | null;
}
export interface PutPushConfig {
  readonly runId: string;
  /** Null to have one minted; an id that is there is replaced. */
  readonly configId: string | null;
  readonly target: PushTarget;
  /** Of the service as its callers know it, for addresses in what is sent. */
  readonly origin: string;
  /** What is told: all of the run, or what comes from now on. */
  readonly from: "start" | "now";
}
export interface PushConfigView {
  readonly configId: string;
  readonly runId: string;
  readonly url: string;
  readonly scheme: string | null;
}

export interface PushStub {
  putPushConfig(caller: Caller, config: PutPushConfig): Promise<Reply<PushConfigView>>;
  pushConfigs(caller: Caller, runId: string): Promise<Reply<readonly PushConfigView[]>>;
  dropPushConfig(caller: Caller, runId: string, configId: string): Promise<Reply<null>>;
}

/** A protocol's words for it. */
export interface PushProtocol {
  /** Of the run as it stood at the last of `events`; null where that is nothing to tell. */
  encode(of: {
    readonly place: ThreadAddress & { readonly run: string };
    readonly origin: string;
    /** Of the run, from its first. */
    readonly events: readonly EventView[];
    readonly target: PushTarget;
  }): PushMessage | null;
}
export interface PushMessage {
  /** A change of it is what is told. */
  readonly state: string;
  readonly post: OutgoingPost;
}
