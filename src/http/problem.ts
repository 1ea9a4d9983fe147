/** What was thrown, to a failure that may be answered. The rest of it is for the log. */
import { isAppError } from "#shared/errors.ts";
import { failure } from "#protocols/rest/errors.ts";

type Failure = ReturnType<typeof failure>;

export function toFailure(error: unknown): Failure {
  if (isAppError(error)) {
    return {
      code: error.code,
      message: error.message,
      detail: error.detail,
      retryable: error.retryable,
    };
  }
  return failure(isPlatformOutage(error) ? "unavailable" : "internal");
}

/** For the operator: name and message of each cause. A stack belongs to the platform's own trace. */
export function toReason(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const own = `${error.name}: ${error.message}`;
  return error.cause === undefined ? own : `${own} <- ${toReason(error.cause)}`;
}

/** Flags that the runtime sets on errors of a call to an object that was reset, moved or overloaded. */
function isPlatformOutage(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  return ["retryable", "overloaded", "durableObjectReset"].some(
    (flag) => Reflect.get(error, flag) === true,
  );
}
