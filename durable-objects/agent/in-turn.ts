/** Work on a cursor outside the object that another process may move at the same time. */
import { AppError } from "#shared/errors.ts";

/** Two processes that deliver the same log take turns; more in a row is a store that does not keep its word. */
const MAX_TURNS = 5;

/** Tries until it is nobody else's turn: `null` says that the cursor moved meanwhile. */
export async function inTurn<T>(what: string, work: () => Promise<T | null>): Promise<T> {
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const done = await work();
    if (done !== null) return done;
  }
  throw new AppError("unavailable", `${what} is counted elsewhere at the same time`, {
    kind: "unavailable",
    retryable: true,
  });
}
