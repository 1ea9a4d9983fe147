/**
 * The limits of a Durable Object's SQLite, asserted in every adapter: local runtimes accept far larger rows, so
 * without this a mistake would first show in production.
 */
import { AppError } from "#shared/errors.ts";
import type { SqlValue } from "#ports/sql.ts";

/** The platform stops at 2 MB a row; the rest is left for other columns and headers (rule L8). */
const MAX_ROW_BYTES = 1_572_864;
const MAX_PARAMETERS = 100;

export function assertStatementFits(params: readonly SqlValue[]): void {
  if (params.length > MAX_PARAMETERS) {
    throw new AppError("storage_failed", `a statement binds at most ${MAX_PARAMETERS} parameters`, {
      kind: "faulted",
      detail: { parameters: params.length },
    });
  }
  let bytes = 0;
  for (const value of params) {
    if (value instanceof Uint8Array) bytes += value.byteLength;
    else if (typeof value === "string") bytes += value.length;
  }
  // A UTF-16 unit takes at most three bytes, so most statements are cleared without encoding anything.
  if (bytes * 3 <= MAX_ROW_BYTES) return;
  const exact = params.reduce<number>((sum, value) => sum + byteLength(value), 0);
  if (exact <= MAX_ROW_BYTES) return;
  throw new AppError("storage_failed", `a row holds at most ${MAX_ROW_BYTES} bytes`, {
    kind: "faulted",
    detail: { bytes: exact },
  });
}

function byteLength(value: SqlValue): number {
  if (value instanceof Uint8Array) return value.byteLength;
  return typeof value === "string" ? new TextEncoder().encode(value).byteLength : 8;
}

export function toStorageError(error: unknown): AppError {
  const message = error instanceof Error ? error.message : "the statement failed";
  return new AppError("storage_failed", message, { kind: "faulted", cause: error });
}
