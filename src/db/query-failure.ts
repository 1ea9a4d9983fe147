/** A failed query of D1 as AppError `unavailable`, without what was bound: drizzle's own error quotes all parameters. */
import { DrizzleQueryError } from "drizzle-orm";
import { AppError } from "#shared/errors.ts";

export function toUnavailable(cause: unknown): AppError {
  return new AppError("unavailable", "The directory cannot be reached.", {
    kind: "unavailable",
    retryable: true,
    cause: cause instanceof DrizzleQueryError ? cause.cause : cause,
  });
}
