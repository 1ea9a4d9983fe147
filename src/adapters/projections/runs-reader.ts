/** RunsReader: runs of a thread as the projection has them. Text, output and loop report are the log's; the caller reads them there. */
import type { Page, PageRequest, RunStatus, RunView } from "#ports/thread-gateway.ts";
import type { SqlDatabase, SqlRow, SqlValue } from "#ports/sql.ts";

const COLUMNS = `SELECT start_seq, run_id, status, finish, reason, message, definition, steps, cost_micros, recovery_micros, estimated_micros, unpriced,
  tokens, created_at, ended_at, end_seq FROM runs`;

export class RunsReader {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  get(runId: string): RunView | null {
    const [row] = this.#sql.exec(`${COLUMNS} WHERE run_id = ?`, runId);
    return row === undefined ? null : toRunView(row);
  }

  /** Oldest first; `after` is the start seq of the last one seen. */
  list({ after, limit }: PageRequest): Page<RunView> {
    const rows = this.#sql.exec(
      `${COLUMNS} WHERE start_seq > ? ORDER BY start_seq LIMIT ?`,
      after,
      limit + 1,
    );
    const items = rows.slice(0, limit).map(toRunView);
    return { items, next: rows.length > limit ? (items.at(-1)?.startSeq ?? null) : null };
  }
}

function toRunView(row: SqlRow): RunView {
  return {
    runId: String(row["run_id"]),
    // Written by the projection from a closed set of event types.
    status: String(row["status"]) as RunStatus,
    finish: toText(row["finish"]),
    reason: toText(row["reason"]),
    message: toText(row["message"]),
    loop: null,
    text: null,
    output: null,
    steps: Number(row["steps"]),
    costMicros: toCost(Number(row["cost_micros"]), Number(row["unpriced"])),
    recoveryMicros: Number(row["recovery_micros"]),
    estimatedMicros: Number(row["estimated_micros"]),
    unpriced: Number(row["unpriced"]),
    tokens: Number(row["tokens"]),
    definition: toText(row["definition"]),
    createdAt: Number(row["created_at"]),
    endedAt: toWhole(row["ended_at"]),
    startSeq: Number(row["start_seq"]),
    endSeq: toWhole(row["end_seq"]),
  };
}

/** Where nothing of it is known it is not 0, which would read as free (B23). */
function toCost(micros: number, unpriced: number): number | null {
  return unpriced > 0 && micros === 0 ? null : micros;
}

function toText(value: SqlValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function toWhole(value: SqlValue | undefined): number | null {
  return typeof value === "number" ? value : null;
}
