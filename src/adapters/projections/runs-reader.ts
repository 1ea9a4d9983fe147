/**
 * RunsReader: runs of a thread as the projection has them, and what the one at work has spent as the thread's state says.
 * Text, output and loop report are the log's; the caller reads them there.
 */
import type { RunTotals } from "#kernel/amounts.ts";
import type { Page, PageRequest, RunStatus, RunView } from "#ports/thread-gateway.ts";
import type { SqlDatabase, SqlRow, SqlValue } from "#ports/sql.ts";

const COLUMNS = `SELECT start_seq, run_id, status, finish, reason, message, definition, steps, cost_micros, recovery_micros, estimated_micros, unpriced,
  tokens, created_at, ended_at, end_seq FROM runs`;

/** The run at work, as far as it has come. */
export interface LiveRun {
  readonly runId: string;
  readonly totals: RunTotals;
}

export class RunsReader {
  readonly #sql: SqlDatabase;
  readonly #live: () => LiveRun | null;

  constructor(sql: SqlDatabase, live: () => LiveRun | null) {
    this.#sql = sql;
    this.#live = live;
  }

  get(runId: string): RunView | null {
    const [row] = this.#sql.exec(`${COLUMNS} WHERE run_id = ?`, runId);
    return row === undefined ? null : this.#view(row);
  }

  /** Oldest first; `after` is the start seq of the last one seen. */
  list({ after, limit }: PageRequest): Page<RunView> {
    const rows = this.#sql.exec(
      `${COLUMNS} WHERE start_seq > ? ORDER BY start_seq LIMIT ?`,
      after,
      limit + 1,
    );
    const items = rows.slice(0, limit).map((row) => this.#view(row));
    return { items, next: rows.length > limit ? (items.at(-1)?.startSeq ?? null) : null };
  }

  #view(row: SqlRow): RunView {
    const view = toRunView(row);
    const live = this.#live();
    if (live?.runId !== view.runId) return view;
    const { costMicros, ...totals } = live.totals;
    return { ...view, ...totals, costMicros: toCost(costMicros, totals.unpriced) };
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
