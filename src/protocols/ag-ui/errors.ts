/** Failures before a run begins: problem documents as everywhere (P1); `HttpAgent` shows their text. Later ones are events. */
import type { Failure } from "#ports/thread-gateway.ts";
import { failure, problemResponse } from "#protocols/rest/errors.ts";
import type { z } from "zod";

export function refuseRun(failed: Failure, requestId: string): Response {
  return problemResponse(failed, { requestId });
}

/** Names the field, and quotes nothing that was sent. */
export function toInvalid(error: z.ZodError): Failure {
  const [issue] = error.issues;
  const path = `/${(issue?.path ?? []).map(String).join("/")}`;
  return failure("invalid_request", `${path}: ${issue?.message ?? "not valid"}`, { path });
}
