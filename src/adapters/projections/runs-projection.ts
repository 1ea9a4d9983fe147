/**
 * RunsProjection: one row a run in table `runs`, so that runs are listed and counted without folding the log.
 *
 * A row begins with its input (`queued`) or, for a message carried on from an ended run, with its start. Text and
 * output stay in the log: the row names the event that holds them. One row is written per model outcome, none per call
 * that cost nothing.
 */
import type { CostKind, ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { Projection } from "#ports/event-log.ts";
import type { SqlDatabase } from "#ports/sql.ts";

interface RunCounts {
  readonly steps: number;
  readonly cost: number;
  readonly recovery: number;
  readonly estimated: number;
  readonly unpriced: number;
  readonly tokens: number;
}

export class RunsProjection implements Projection<ThreadEvents> {
  readonly name = "runs";
  readonly version = 2;
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  reset(base: number): void {
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
        return this.#count(event, event.payload?.settlement.tokens ?? 0);
      case "usage.corrected":
        return this.#correct(event);
      case "tool.finished":
        if ((event.header.costMicros ?? 0) > 0)
          this.#count(event, event.payload?.settlement.tokens ?? 0);
        return;
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

  #count({ header, type }: ThreadEvent, tokens: number): void {
    const cost = header.costMicros ?? 0;
    this.#add(header.run, {
      steps: type === "model.answered" ? (header.step ?? 0) : 0,
      cost,
      recovery: header.costKind === "recovery" ? cost : 0,
      estimated: header.costKind === "estimated" ? cost : 0,
      unpriced: type !== "tool.finished" && header.costMicros === null ? 1 : 0,
      tokens,
    });
  }

  /** Out of the kind that it was booked under and into the one that it is. */
  #correct({ header, payload }: Extract<ThreadEvent, { readonly type: "usage.corrected" }>): void {
    if (payload === null) return;
    const { before, after } = payload;
    const of = (kind: CostKind): number =>
      (after.kind === kind ? after.settlement.costMicros : 0) -
      (before.kind === kind ? before.settlement.costMicros : 0);
    this.#add(header.run, {
      steps: 0,
      cost: header.costMicros ?? 0,
      recovery: of("recovery"),
      estimated: of("estimated"),
      unpriced: (after.settlement.unpriced ? 1 : 0) - (before.settlement.unpriced ? 1 : 0),
      tokens: after.settlement.tokens - before.settlement.tokens,
    });
  }

  #add(runId: string | null, counts: RunCounts): void {
    this.#sql.exec(
      `UPDATE runs SET steps = max(steps, ?), cost_micros = cost_micros + ?, recovery_micros = recovery_micros + ?,
       estimated_micros = estimated_micros + ?, unpriced = unpriced + ?, tokens = tokens + ? WHERE run_id = ?`,
      counts.steps,
      counts.cost,
      counts.recovery,
      counts.estimated,
      counts.unpriced,
      counts.tokens,
      runId,
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
    event: ThreadEvent,
    end: { status: string; finish: string | null; reason: string | null; message: string | null },
  ): void {
    const { header } = event;
    this.#begin(event, "running");
    const textSeq = event.type === "run.completed" ? header.seq : null;
    this.#sql.exec(
      `UPDATE runs SET status = ?, finish = ?, reason = ?, message = ?, ended_at = ?, end_seq = ?, text_seq = ?, output_seq = ?
       WHERE run_id = ?`,
      end.status,
      end.finish,
      end.reason,
      end.message,
      header.at,
      header.seq,
      textSeq,
      textSeq,
      header.run,
    );
  }
}
