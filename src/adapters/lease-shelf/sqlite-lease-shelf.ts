/** LeaseShelf over the ledger object's SQLite: table `leases`. */
import type { Amounts, BudgetUnit } from "#kernel/amounts.ts";
import type { BudgetScope } from "#ports/budget-ledger.ts";
import type { LeaseShelf, ShelvedLease } from "#ports/lease-shelf.ts";
import type { SqlDatabase, SqlRow } from "#ports/sql.ts";
import { trusted } from "#shared/ids.ts";

const PUT = `INSERT INTO leases (lease_id, agent, thread, run, user, granted_at, open, seq, cost_micros, tokens, steps, wall_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (lease_id) DO UPDATE SET open = excluded.open, seq = excluded.seq, cost_micros = excluded.cost_micros,
tokens = excluded.tokens, steps = excluded.steps, wall_ms = excluded.wall_ms`;

const COLUMNS: { readonly [U in BudgetUnit]: string } = {
  costMicros: "cost_micros",
  tokens: "tokens",
  steps: "steps",
  wallMs: "wall_ms",
};

export class SqliteLeaseShelf implements LeaseShelf {
  readonly #sql: SqlDatabase;

  constructor(sql: SqlDatabase) {
    this.#sql = sql;
  }

  clear(): void {
    this.#sql.exec("DELETE FROM leases");
  }

  put({ leaseId, holder, at, open, seq, settled }: ShelvedLease): void {
    const { agent, thread, run, user } = holder;
    const { costMicros, tokens, steps, wallMs } = settled;
    const flag = open ? 1 : 0;
    this.#sql.exec(
      PUT,
      leaseId,
      agent,
      thread,
      run,
      user,
      at,
      flag,
      seq,
      costMicros,
      tokens,
      steps,
      wallMs,
    );
  }

  get(leaseId: string): ShelvedLease | null {
    const [row] = this.#sql.exec("SELECT * FROM leases WHERE lease_id = ?", leaseId);
    return row === undefined ? null : toLease(row);
  }

  spent(
    scope: BudgetScope,
    unit: BudgetUnit,
    { from, until }: { readonly from: number; readonly until: number | null },
  ): number {
    const { where, values } = toWhere(scope);
    const [row] = this.#sql.exec(
      `SELECT SUM(${COLUMNS[unit]}) AS spent FROM leases WHERE granted_at >= ? AND granted_at < ?${where}`,
      from,
      until ?? Number.MAX_SAFE_INTEGER,
      ...values,
    );
    return Number(row?.["spent"] ?? 0);
  }
}

function toWhere(scope: BudgetScope): {
  readonly where: string;
  readonly values: readonly string[];
} {
  switch (scope.kind) {
    case "tenant":
      return { where: "", values: [] };
    case "agent":
      return { where: " AND agent = ?", values: [scope.agent] };
    case "user":
      return { where: " AND user = ?", values: [scope.user] };
    case "thread":
      return { where: " AND agent = ? AND thread = ?", values: [scope.agent, scope.thread] };
  }
}

function toLease(row: SqlRow): ShelvedLease {
  const settled: Amounts = {
    costMicros: Number(row["cost_micros"]),
    tokens: Number(row["tokens"]),
    steps: Number(row["steps"]),
    wallMs: Number(row["wall_ms"]),
  };
  return {
    leaseId: String(row["lease_id"]),
    holder: {
      agent: trusted(String(row["agent"])),
      thread: trusted(String(row["thread"])),
      run: String(row["run"]),
      user: typeof row["user"] === "string" ? row["user"] : null,
    },
    at: Number(row["granted_at"]),
    open: row["open"] === 1,
    seq: Number(row["seq"]),
    settled,
  };
}
