/**
 * RunsProjection: one row a run in table `runs`, so that runs are listed and counted without folding the log.
 *
 * A row begins with its input (`queued`) or, for a message carried on from an ended run, with its start. Text and
 * output stay in the log: the row names the event that holds them. What a run spent is written once, when it ends, as
 * its last event says it; of a run at work the thread's state tells it (`RunsReader`).
 */
import type { RunTotals } from "#kernel/amounts.ts";
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { TotalsRule } from "#kernel/run-totals.ts";
import type { Projection } from "#ports/event-log.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export class RunsProjection implements Projection<ThreadEvents> {
  readonly name = "runs";
  readonly version = 2;
  readonly #sql: SqlDatabase;
  /** Of runs that have not ended, as far as this object saw them: all that a rebuild needs of logs whose ends say nothing. */
  readonly #seen = new Map<string, RunTotals>();
  readonly #totals: TotalsRule;

  constructor(sql: SqlDatabase, totals: TotalsRule) {
    this.#sql = sql;
    this.#totals = totals;
  }

  reset(base: number): void {
    this.#seen.clear();
    this.#sql.exec("DELETE FROM runs WHERE start_seq > ?", base);
  }

  apply(event: ThreadEvent): void {
    switch (event.type) {
      case "input.received":
        return this.#begin(event, "queued");
      case "run.started":
        return this.#start(event);
      case "model.answered":
      case "model.failed":
      case "model.interrupted":
      case "tool.finished":
        return this.#see(event);
      case "usage.corrected":
        return this.#correct(event);
      case "run.completed":
        return this.#end(event, {
          status: "completed",
          finish: event.payload?.finish ?? null,
          reason: null,
          message: null,
        });
      case "run.failed":
        return this.#end(event, {
          status: "failed",
          finish: null,
          reason: event.payload?.reason ?? null,
          message: event.payload?.message ?? null,
        });
      case "run.cancelled":
        return this.#end(event, {
          status: "cancelled",
          finish: null,
          reason: null,
          message: event.payload?.reason ?? null,
        });
      case "erasure.completed":
        return this.#keep(event);
      default:
        return;
    }
  }

  /** A message that steers names the run it joins, whose row is there. */
  #begin({ header }: ThreadEvent, status: "queued" | "running"): void {
    this.#sql.exec(
      "INSERT INTO runs (start_seq, run_id, status, definition, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING",
      header.seq,
      header.run,
      status,
      header.definition,
      header.at,
    );
  }

  #start(event: ThreadEvent): void {
    this.#begin(event, "running");
    this.#sql.exec("UPDATE runs SET status = 'running' WHERE run_id = ?", event.header.run);
  }

  #see(event: ThreadEvent): void {
    const run = event.header.run ?? "";
    this.#seen.set(run, this.#totals.add(this.#seen.get(run) ?? this.#totals.none, event));
  }

  /** A run that has ended is corrected in its row; one at work will say it when it ends. */
  #correct(event: ThreadEvent): void {
    const { header } = event;
    if (this.#seen.has(header.run ?? "")) this.#see(event);
    const by = this.#totals.add(this.#totals.none, event);
    this.#sql.exec(
      `UPDATE runs SET cost_micros = cost_micros + ?, recovery_micros = recovery_micros + ?, estimated_micros = estimated_micros + ?,
       unpriced = unpriced + ?, tokens = tokens + ? WHERE run_id = ? AND end_seq IS NOT NULL`,
      by.costMicros,
      by.recoveryMicros,
      by.estimatedMicros,
      by.unpriced,
      by.tokens,
      header.run,
    );
  }

  /** Words of erased runs go, their numbers stay, also where the events behind them can no longer tell. */
  #keep({ payload }: Extract<ThreadEvent, { readonly type: "erasure.completed" }>): void {
    for (const { runId, finish, reason, tokens } of payload?.kept ?? []) {
      this.#sql.exec(
        "UPDATE runs SET message = NULL, finish = ?, reason = ?, tokens = ? WHERE run_id = ?",
        finish,
        reason,
        tokens,
        runId,
      );
    }
  }

  #end(
    event: RunEnded,
    end: { status: string; finish: string | null; reason: string | null; message: string | null },
  ): void {
    const { header } = event;
    this.#begin(event, "running");
    const textSeq = event.type === "run.completed" ? header.seq : null;
    const seen = this.#seen.get(header.run ?? "");
    this.#seen.delete(header.run ?? "");
    const spent = event.payload?.totals ?? seen ?? this.#totals.none;
    this.#sql.exec(
      `UPDATE runs SET status = ?, finish = ?, reason = ?, message = ?, ended_at = ?, end_seq = ?, text_seq = ?, output_seq = ?,
       steps = ?, cost_micros = ?, recovery_micros = ?, estimated_micros = ?, unpriced = ?, tokens = ? WHERE run_id = ?`,
      end.status,
      end.finish,
      end.reason,
      end.message,
      header.at,
      header.seq,
      textSeq,
      textSeq,
      spent.steps,
      spent.costMicros,
      spent.recoveryMicros,
      spent.estimatedMicros,
      spent.unpriced,
      spent.tokens,
      header.run,
    );
  }
}

type RunEnded = Extract<
  ThreadEvent,
  { readonly type: "run.completed" | "run.failed" | "run.cancelled" }
>;
