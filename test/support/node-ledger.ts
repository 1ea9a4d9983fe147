/** NodeLedger: a tenant's ledger over Node's SQLite, reached as by RPC: asynchronously, by copies, and counted. */
import { SqliteLeaseShelf } from "#adapters/lease-shelf/sqlite-lease-shelf.ts";
import { NodeSqlite } from "#adapters/sql/node-sqlite.ts";
import type { LedgerEvent, LedgerEvents } from "#budget/events.ts";
import { LEDGER_CATALOGUE } from "#budget/evolve.ts";
import { LeasesProjection } from "#budget/leases-projection.ts";
import { TenantLedger } from "#budget/tenant-ledger.ts";
import type {
  BudgetSpec,
  BudgetView,
  LeaseAnswer,
  LeaseReport,
  LeaseRequest,
  LeaseView,
  LedgerStub,
  WriteOff,
  WriteOffView,
} from "#ports/budget-ledger.ts";
import type { Clock } from "#ports/clock.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { Reply } from "#ports/thread-gateway.ts";
import { openNodeLog } from "./node-log.ts";

export class NodeLedger implements LedgerStub {
  readonly database = new NodeSqlite();
  readonly calls = { lease: 0, report: 0 };
  readonly #clock: Clock;
  ledger!: TenantLedger;
  log!: EventLog<LedgerEvents>;
  shelf!: SqliteLeaseShelf;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.reopen();
  }

  /** The ledger's process dies here and starts again. */
  reopen(): void {
    this.shelf = new SqliteLeaseShelf(this.database);
    const projections = [new LeasesProjection(this.shelf)];
    const defaults = { tenant: "acme" };
    this.log = openNodeLog(LEDGER_CATALOGUE, { projections, defaults }, this.database).log;
    this.ledger = new TenantLedger({ log: this.log, shelf: this.shelf, clock: this.#clock });
  }

  async lease(request: LeaseRequest): Promise<LeaseAnswer> {
    this.calls.lease += 1;
    return structuredClone(this.ledger.lease(structuredClone(request)));
  }
  async report(reports: readonly LeaseReport[]): Promise<void> {
    this.calls.report += 1;
    this.ledger.report(structuredClone(reports));
  }
  async budgets(): Promise<readonly BudgetView[]> {
    return this.ledger.budgets();
  }
  async putBudget(spec: BudgetSpec, actor: string): Promise<Reply<BudgetView>> {
    return this.ledger.put(spec, actor);
  }
  async deleteBudget(budgetId: string, actor: string): Promise<Reply<null>> {
    return this.ledger.remove(budgetId, actor);
  }
  async leases(): Promise<readonly LeaseView[]> {
    return this.ledger.leases();
  }
  async writeOff(request: WriteOff, actor: string): Promise<Reply<WriteOffView>> {
    return this.ledger.writeOff(request, actor);
  }
  async auditBounds(): ReturnType<LedgerStub["auditBounds"]> {
    throw new Error("read the log");
  }
  async export(): ReturnType<LedgerStub["export"]> {
    throw new Error("read the log");
  }
  async events(): ReturnType<LedgerStub["events"]> {
    throw new Error("read the log");
  }

  recorded(): readonly LedgerEvent[] {
    return this.log.read({ limit: 1_000_000 });
  }
  types(): readonly string[] {
    return this.recorded().map(({ type }) => type);
  }
  budget(budgetId: string): BudgetView {
    const view = this.ledger.budgets().find((budget) => budget.budgetId === budgetId);
    if (view === undefined) throw new Error(`no budget ${budgetId}`);
    return view;
  }
}

export function budgetOf(limit: number, more: Partial<BudgetSpec> = {}): BudgetSpec {
  return {
    budgetId: "money",
    scope: { kind: "tenant" },
    period: "day",
    unit: "costMicros",
    limit,
    warnAtPercent: [],
    atLimit: "stop",
    ...more,
  };
}
