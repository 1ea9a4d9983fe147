/**
 * ErasuresProjection: one row an erasure in table `erasures`, so that its state and receipt are found without folding the
 * log. Holds counts, never content.
 */
import type { ErasedStore, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { Projection } from "#ports/event-log.ts";
import type { SqlDatabase, SqlRow } from "#ports/sql.ts";

export class ErasuresProjection implements Projection<ThreadEvents> {
  readonly name = "erasures";
  readonly version = 1;
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  reset(base: number): void {
    this.#sql.exec("DELETE FROM erasures WHERE seq > ?", base);
  }

  apply({ type, header, payload }: ThreadEvent): void {
    if (type === "erasure.requested") {
      this.#sql.exec(
        "INSERT INTO erasures (seq, erasure_id, run_id, origin, requested_at) VALUES (?, ?, ?, ?, ?)",
        header.seq,
        header.id,
        header.run,
        payload?.origin ?? null,
        header.at,
      );
    } else if (type === "erasure.completed") {
      this.#sql.exec(
        "UPDATE erasures SET completed_at = ?, completed_seq = ?, stores = ? WHERE erasure_id = ?",
        header.at,
        header.seq,
        JSON.stringify(payload?.stores ?? []),
        header.cause,
      );
    }
  }
}

export interface ErasureRow {
  readonly seq: number;
  readonly erasureId: string;
  /** Null: of the whole thread. */
  readonly runId: string | null;
  readonly origin: string | null;
  readonly requestedAt: number;
  readonly completedAt: number | null;
  readonly completedSeq: number | null;
  readonly stores: readonly ErasedStore[];
}

export class ErasuresReader {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  /** The newest of the thread, or of one run, which one of the whole thread reached too. */
  newest(runId: string | null): ErasureRow | null {
    const [row] = this.#sql.exec(
      `SELECT seq, erasure_id, run_id, origin, requested_at, completed_at, completed_seq, stores FROM erasures
       WHERE run_id IS NULL OR run_id = ? ORDER BY seq DESC LIMIT 1`,
      runId,
    );
    return row === undefined ? null : toErasureRow(row);
  }
}

function toErasureRow(row: SqlRow): ErasureRow {
  const { run_id: runId, origin, completed_at: completedAt, completed_seq: completedSeq } = row;
  return {
    seq: Number(row["seq"]),
    erasureId: String(row["erasure_id"]),
    runId: typeof runId === "string" ? runId : null,
    origin: typeof origin === "string" ? origin : null,
    requestedAt: Number(row["requested_at"]),
    completedAt: typeof completedAt === "number" ? completedAt : null,
    completedSeq: typeof completedSeq === "number" ? completedSeq : null,
    // Written by the projection above, in a column nothing else touches.
    stores: JSON.parse(String(row["stores"])) as readonly ErasedStore[],
  };
}
