/**
 * Decode: one text message of a client to a command. Bounded before it is understood (P30, P31); nothing of it is
 * trusted beyond its shape, and no value is quoted back.
 */
import type { FrameRefusal, SocketCommand } from "#ports/socket-protocol.ts";
import { exhaustive } from "#shared/exhaustive.ts";
import { jsonDepth } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";
import { frameInvalid, frameTooLarge } from "./errors.ts";
import { ClientFrame, FRAME, MAX_FRAME_BYTES, MAX_FRAME_DEPTH, RequestBody } from "./wire.ts";

type Decoded = Result<SocketCommand, FrameRefusal>;

export function decodeFrame(data: string | ArrayBuffer): Decoded {
  if (typeof data !== "string") return err(frameInvalid("Messages of this protocol are text."));
  // A character has at least one byte, so the exact count is taken only where it can matter.
  if (data.length > MAX_FRAME_BYTES || byteLength(data) > MAX_FRAME_BYTES) {
    return err(frameTooLarge(MAX_FRAME_BYTES));
  }
  const json = parseJson(data);
  if (!json.ok) return json;
  const frame = ClientFrame.safeParse(json.value);
  if (!frame.success) {
    const path = frame.error.issues[0]?.path.join("/") ?? "";
    return err(frameInvalid(`The message is not one of this protocol, at /${path}.`));
  }
  return toCommand(frame.data);
}

function toCommand(frame: ClientFrame): Decoded {
  switch (frame.type) {
    case FRAME.request:
      return toChat(frame.id, frame.init.body);
    // What a client holds of the conversation is never taken over: the log is the conversation (P24).
    case FRAME.messages:
      return ok({ type: "none" });
    case FRAME.clear:
      return ok({ type: "clear" });
    case FRAME.cancel:
      return ok({ type: "cancel", streamId: frame.id });
    case FRAME.resumeRequest:
      return ok({ type: "resume", probeId: frame.probeId ?? null });
    case FRAME.resumeAck:
      return ok({ type: "acknowledge", streamId: frame.id });
    case FRAME.toolResult:
      return ok(
        frame.state === "output-error"
          ? {
              type: "tool_error",
              callId: frame.toolCallId,
              message: frame.errorText ?? "The client's tool failed.",
            }
          : { type: "tool_result", callId: frame.toolCallId, output: frame.output ?? null },
      );
    case FRAME.toolApproval:
      return ok({ type: "tool_approval", callId: frame.toolCallId, approved: frame.approved });
    case FRAME.state:
      return ok({ type: "set_state", state: frame.state });
    case FRAME.rpc:
      return ok({ type: "rpc", id: frame.id, method: frame.method });
    default:
      return exhaustive(frame);
  }
}

function toChat(requestId: string, body: string): Decoded {
  const json = parseJson(body);
  if (!json.ok) return json;
  const parsed = RequestBody.safeParse(json.value);
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join("/") ?? "";
    return err(frameInvalid(`The request's body is not one of this protocol, at /${path}.`));
  }
  const { messages, trigger, delivery } = parsed.data;
  return ok({
    type: "chat",
    requestId,
    trigger: trigger === "regenerate-message" ? "regenerate" : "submit",
    delivery,
    messages: messages.map(({ id, role, parts }) => ({
      id,
      role,
      text: parts.map((part) => (part.type === "text" ? (part.text ?? "") : "")).join(""),
    })),
  });
}

function parseJson(text: string): Result<unknown, FrameRefusal> {
  if (jsonDepth(text) > MAX_FRAME_DEPTH) {
    return err(frameInvalid(`The message is nested deeper than ${MAX_FRAME_DEPTH} levels.`));
  }
  try {
    const value: unknown = JSON.parse(text);
    return ok(value);
  } catch {
    return err(frameInvalid("The message is not valid JSON."));
  }
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}
