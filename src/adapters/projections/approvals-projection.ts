/**
 * ApprovalsProjection: which approvals a thread has had, one row each in table `approvals`, so that one is found by its id.
 *
 * Holds positions only. What was asked and decided is read from the log, once, where erasure reaches it.
 */
import type { ThreadEvent, ThreadEvents } from "#kernel/events.ts";
import type { Projection } from "#ports/event-log.ts";
import type { SqlDatabase } from "#ports/sql.ts";

export class ApprovalsProjection implements Projection<ThreadEvents> {
  readonly name = "approvals";
  readonly version = 1;
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  reset(base: number): void {
    this.#sql.exec("DELETE FROM approvals WHERE seq > ?", base);
  }

  apply({ type, header }: ThreadEvent): void {
    switch (type) {
      case "approval.requested":
        this.#sql.exec(
          "INSERT INTO approvals (seq, approval_id) VALUES (?, ?)",
          header.seq,
          header.id,
        );
        return;
      case "approval.decided":
        this.#sql.exec(
          "UPDATE approvals SET decided_seq = ? WHERE approval_id = ?",
          header.seq,
          header.cause,
        );
        return;
      case "approval.refused":
        this.#sql.exec(
          "UPDATE approvals SET refused = refused + 1 WHERE approval_id = ?",
          header.cause,
        );
        return;
      default:
        return;
    }
  }
}

export interface ApprovalRow {
  readonly seq: number;
  readonly decidedSeq: number | null;
  /** Attempts that came after the decision and are recorded. */
  readonly refused: number;
}

export class ApprovalsReader {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  get(approvalId: string): ApprovalRow | null {
    return this.#rows("WHERE approval_id = ?", approvalId)[0] ?? null;
  }

  /** Oldest first, from behind `after`. */
  list(after: number, limit: number, state: "open" | "all"): readonly ApprovalRow[] {
    const open = state === "open" ? "AND decided_seq IS NULL" : "";
    return this.#rows(`WHERE seq > ? ${open} ORDER BY seq LIMIT ?`, after, limit);
  }

  #rows(where: string, ...params: readonly (string | number)[]): readonly ApprovalRow[] {
    return this.#sql
      .exec(`SELECT seq, decided_seq, refused FROM approvals ${where}`, ...params)
      .map((row) => ({
        seq: Number(row["seq"]),
        decidedSeq: row["decided_seq"] === null ? null : Number(row["decided_seq"]),
        refused: Number(row["refused"]),
      }));
  }
}
