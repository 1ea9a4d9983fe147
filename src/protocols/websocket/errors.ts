/** Failures as a socket tells them: one shape, and the code to close with where the socket cannot go on. */
import type { ErrorCode } from "#shared/errors.ts";
import type { Failure } from "#ports/thread-gateway.ts";
import type { FrameRefusal } from "#ports/socket-protocol.ts";

/** RFC 6455: a message too big to process. */
const TOO_BIG = 1009;

export function frameTooLarge(maxBytes: number): FrameRefusal {
  const message = `A message may have ${maxBytes} bytes; send fewer of the earlier messages, or put the content in a file.`;
  return { failure: failure("body_too_large", message, { maxBytes }), close: TOO_BIG };
}

/** Never quotes what was sent. */
export function frameInvalid(message: string): FrameRefusal {
  return { failure: failure("invalid_request", message), close: null };
}

/** 5xx say nothing of what went on inside, as over HTTP (P1). */
export function toText({ code, message }: Failure): string {
  return code === "internal" || code === "storage_failed" ? "Something went wrong." : message;
}

function failure(code: ErrorCode, message: string, detail: Failure["detail"] = {}): Failure {
  return { code, message, detail, retryable: false };
}
