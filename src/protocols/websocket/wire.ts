/**
 * Wire: every frame of the Agents SDK's chat protocol (agents 0.32) that clients send, as schemas, and the names of
 * all frames. docs/protocols.md lists each with its command and its test.
 *
 * Unknown members are dropped, not refused: clients of later minor versions add some.
 */
import { z } from "zod";
import type { Json } from "#shared/json.ts";

export const FRAME = {
  identity: "cf_agent_identity",
  state: "cf_agent_state",
  stateError: "cf_agent_state_error",
  mcpServers: "cf_agent_mcp_servers",
  rpc: "rpc",
  messages: "cf_agent_chat_messages",
  request: "cf_agent_use_chat_request",
  response: "cf_agent_use_chat_response",
  clear: "cf_agent_chat_clear",
  cancel: "cf_agent_chat_request_cancel",
  resuming: "cf_agent_stream_resuming",
  resumeAck: "cf_agent_stream_resume_ack",
  resumeRequest: "cf_agent_stream_resume_request",
  resumeNone: "cf_agent_stream_resume_none",
  toolResult: "cf_agent_tool_result",
  toolApproval: "cf_agent_tool_approval",
  messageUpdated: "cf_agent_message_updated",
  /** Ours: clients that do not know it hand it to `onMessage`. */
  error: "holdfast_error",
} as const;

/** One text message in; larger ones end the socket (P30). */
export const MAX_FRAME_BYTES = 1024 * 1024;
export const MAX_FRAME_DEPTH = 32;
/** Longest list of messages a request may carry; the newest few are all that matters. */
const MAX_MESSAGES = 10_000;

/** Ids that clients make up: echoed back, stored in attachments, never in names or keys. */
const ClientId = z.string().min(1).max(128);
const JsonValue: z.ZodType<Json> = z.json();

const Part = z.looseObject({ type: z.string(), text: z.string().optional() });
const Message = z.looseObject({
  id: z.string().max(128),
  role: z.string().max(32),
  parts: z.array(Part).max(1_000).default([]),
});

/** The JSON text inside `init.body` of a request. */
export const RequestBody = z.looseObject({
  messages: z.array(Message).max(MAX_MESSAGES),
  trigger: z.enum(["submit-message", "regenerate-message"]).default("submit-message"),
  /** Option of ours, given in `body` of `useAgentChat`. */
  delivery: z.enum(["queue", "steer", "reject", "interrupt"]).default("queue"),
});

export const ClientFrame = z.discriminatedUnion("type", [
  z.object({
    type: z.literal(FRAME.request),
    id: ClientId,
    init: z.object({ method: z.string().optional(), body: z.string() }),
  }),
  z.object({ type: z.literal(FRAME.messages) }),
  z.object({ type: z.literal(FRAME.clear) }),
  z.object({ type: z.literal(FRAME.cancel), id: ClientId }),
  z.object({ type: z.literal(FRAME.resumeRequest), probeId: ClientId.optional() }),
  z.object({ type: z.literal(FRAME.resumeAck), id: ClientId }),
  z.object({
    type: z.literal(FRAME.toolResult),
    toolCallId: ClientId,
    output: JsonValue.optional(),
    state: z.enum(["output-available", "output-error"]).optional(),
    errorText: z.string().max(10_000).optional(),
  }),
  z.object({ type: z.literal(FRAME.toolApproval), toolCallId: ClientId, approved: z.boolean() }),
  z.object({ type: z.literal(FRAME.state), state: JsonValue }),
  z.object({ type: z.literal(FRAME.rpc), id: ClientId, method: z.string().max(128) }),
]);
export type ClientFrame = z.output<typeof ClientFrame>;
export type RequestBody = z.output<typeof RequestBody>;
