/**
 * Erasers of D1: the title that the directory shows, and the rows of the inbox. Who owns a thread and when it was used
 * stays: those are opaque ids and times.
 *
 * A title is overwritten before it is set to null, so that the row's own bytes do not keep it.
 */
import type { Eraser, ErasureScope } from "#ports/eraser.ts";
import { toUnavailable } from "#db/query-failure.ts";

const THREAD = "tenant = ?1 AND agent = ?2 AND thread = ?3";

export class D1TitleEraser implements Eraser {
  readonly store = "directory_titles";
  readonly #database: D1Database;

  constructor(database: D1Database) {
    this.#database = database;
  }

  count(scope: ErasureScope): Promise<number> {
    if (scope.runId !== null) return Promise.resolve(0);
    return countRows(this.#database, `threads WHERE ${THREAD} AND title IS NOT NULL`, keyOf(scope));
  }

  async erase(scope: ErasureScope): Promise<void> {
    if (scope.runId !== null) return;
    const set = (value: string): D1PreparedStatement =>
      this.#database
        .prepare(`UPDATE threads SET title = ${value} WHERE ${THREAD} AND title IS NOT NULL`)
        .bind(...keyOf(scope));
    await attempt(() =>
      this.#database.batch([
        set("substr(hex(zeroblob(length(CAST(title AS BLOB)))), 1, length(CAST(title AS BLOB)))"),
        set("NULL"),
      ]),
    );
  }
}

export class D1InboxEraser implements Eraser {
  readonly store = "inbox_rows";
  readonly #database: D1Database;

  constructor(database: D1Database) {
    this.#database = database;
  }

  count(scope: ErasureScope): Promise<number> {
    return countRows(this.#database, `approvals WHERE ${ofRun(scope)}`, runKeyOf(scope));
  }

  async erase(scope: ErasureScope): Promise<void> {
    await attempt(() =>
      this.#database
        .prepare(`DELETE FROM approvals WHERE ${ofRun(scope)}`)
        .bind(...runKeyOf(scope))
        .run(),
    );
  }
}

function keyOf({ tenant, agent, thread }: ErasureScope): readonly string[] {
  return [tenant, agent, thread];
}

function ofRun({ runId }: ErasureScope): string {
  return runId === null ? THREAD : `${THREAD} AND run = ?4`;
}

function runKeyOf(scope: ErasureScope): readonly string[] {
  return scope.runId === null ? keyOf(scope) : [...keyOf(scope), scope.runId];
}

async function countRows(
  database: D1Database,
  from: string,
  key: readonly string[],
): Promise<number> {
  const row = await attempt(() =>
    database
      .prepare(`SELECT count(*) AS n FROM ${from}`)
      .bind(...key)
      .first<{ n: number }>(),
  );
  return row?.n ?? 0;
}

async function attempt<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    throw toUnavailable(cause);
  }
}
