/** SocketPass: what the gateway hands to a thread's object with a socket's upgrade, beside the request. */
import type { ThreadAddress } from "#shared/ids.ts";
import type { Credential } from "./key-store.ts";
import type { Caller } from "./thread-gateway.ts";

/** On whose word a socket opens: a caller that the gateway has authenticated, or a ticket that only the object knows. */
export type SocketPass =
  | { readonly type: "caller"; readonly caller: Caller; readonly credential: Credential }
  | { readonly type: "ticket"; readonly ticket: string };
export interface SocketOpening {
  readonly address: ThreadAddress;
  readonly pass: SocketPass;
}
/** Carries a `SocketPass` as JSON on the gateway's own request to the object; a client's request never gets there. */
export const SOCKET_PASS_HEADER = "x-holdfast-pass";
