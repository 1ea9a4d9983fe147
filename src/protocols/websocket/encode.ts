/** Encode: what a thread has to say, as frames of the protocol. Every function answers one text message. */
import type { SocketProtocol } from "#ports/socket-protocol.ts";
import type { Json } from "#shared/json.ts";
import { openChatStream } from "./chat-stream.ts";
import { decodeFrame } from "./decode.ts";
import { toText } from "./errors.ts";
import { toUiMessages } from "./ui-messages.ts";
import { FRAME } from "./wire.ts";

type Fields = { readonly [field: string]: Json };

function frame(type: string, fields: Fields = {}): string {
  return JSON.stringify({ type, ...fields });
}

const probe = (probeId: string | null): Fields => (probeId === null ? {} : { probeId });

export const socketProtocol: SocketProtocol = {
  decode: decodeFrame,
  chatMessages: toUiMessages,
  openStream: openChatStream,

  // The client's own words (P21): the object's name is nobody's business.
  identity: ({ agent, thread }, stateFollows) =>
    frame(FRAME.identity, { agent, name: thread, ...(stateFollows ? { stateFollows } : {}) }),
  state: (state) => frame(FRAME.state, { state }),
  stateRefused: (failure) => frame(FRAME.stateError, { error: toText(failure) }),
  noServers: () =>
    frame(FRAME.mcpServers, { mcp: { servers: {}, tools: [], prompts: [], resources: [] } }),
  messages: (messages, connect) =>
    frame(FRAME.messages, { messages, ...(connect ? { connect } : {}) }),
  messageUpdated: (message) => frame(FRAME.messageUpdated, { message }),
  cleared: () => frame(FRAME.clear),
  resuming: (id, probeId) => frame(FRAME.resuming, { id, ...probe(probeId) }),
  nothingToResume: (probeId) => frame(FRAME.resumeNone, { reason: "idle", ...probe(probeId) }),
  requestEnded: (id, outcome) => frame(FRAME.response, { id, body: "", done: true, outcome }),
  requestRefused: (id, failure) =>
    frame(FRAME.response, { id, body: toText(failure), done: true, error: true, outcome: "error" }),
  rpcRefused: (id, method) =>
    frame(FRAME.rpc, { id, success: false, error: `There is no method ${method} here.` }),
  refusal: (failure) =>
    frame(FRAME.error, {
      code: failure.code,
      message: toText(failure),
      retryable: failure.retryable,
      context: failure.detail,
    }),
};
