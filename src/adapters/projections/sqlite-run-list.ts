/** SqliteRunList: runs as a reader is shown them: counters from table `runs`, text and output from the event it names. */
import type { ThreadEvents } from "#kernel/events.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { SqlDatabase, SqlRow, SqlValue } from "#ports/sql.ts";
import type { Page, PageRequest, RunStatus, RunView } from "#ports/thread-gateway.ts";

const COLUMNS = `SELECT run_id, status, finish, reason, message, definition, steps, cost_micros, recovery_micros, tokens,
  created_at, ended_at, start_seq, end_seq, text_seq FROM runs`;

export class SqliteRunList {
  readonly #sql: SqlDatabase;
  readonly #log: Pick<EventLog<ThreadEvents>, "get">;

  constructor(sql: SqlDatabase, log: Pick<EventLog<ThreadEvents>, "get">) {
    this.#sql = sql;
    this.#log = log;
  }

  get(runId: string): RunView | null {
    const [row] = this.#sql.exec(`${COLUMNS} WHERE run_id = ?`, runId);
    return row === undefined ? null : this.#toView(row);
  }

  /** Oldest first; `after` and `next` are start seqs. */
  page({ after, limit }: PageRequest): Page<RunView> {
    const rows = this.#sql.exec(
      `${COLUMNS} WHERE start_seq > ? ORDER BY start_seq LIMIT ?`,
      after,
      limit + 1,
    );
    const items = rows.slice(0, limit).map((row) => this.#toView(row));
    return { items, next: rows.length > limit ? (items.at(-1)?.startSeq ?? null) : null };
  }

  #toView(row: SqlRow): RunView {
    const textSeq = toNumber(row["text_seq"]);
    const event = textSeq === null ? null : this.#log.get(textSeq);
    const completed = event?.type === "run.completed" ? event.payload : null;
    return {
      runId: String(row["run_id"]),
      // Written by RunsProjection only, from this union.
      status: String(row["status"]) as RunStatus,
      finish: toText(row["finish"]),
      reason: toText(row["reason"]),
      message: toText(row["message"]),
      text: completed?.text ?? null,
      output: completed?.output ?? null,
      steps: Number(row["steps"]),
      costMicros: Number(row["cost_micros"]),
      recoveryMicros: Number(row["recovery_micros"]),
      tokens: Number(row["tokens"]),
      definition: toText(row["definition"]),
      createdAt: Number(row["created_at"]),
      endedAt: toNumber(row["ended_at"]),
      startSeq: Number(row["start_seq"]),
      endSeq: toNumber(row["end_seq"]),
    };
  }
}

function toText(value: SqlValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function toNumber(value: SqlValue | undefined): number | null {
  return typeof value === "number" ? value : null;
}
