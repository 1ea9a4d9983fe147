/**
 * LedgerObject: the budgets of one tenant as a Durable Object. Thin: storage, one alarm, RPC; the rules are #budget's.
 *
 * O1 Before a lease is answered, an alarm is set: whatever becomes of its holder, somebody will ask (B46).
 * O2 With no lease open there is no alarm, so an idle ledger hibernates.
 */
import { DurableObject } from "cloudflare:workers";
import { SqliteLeaseShelf } from "#adapters/lease-shelf/sqlite-lease-shelf.ts";
import { askHolders } from "#budget/ask-holders.ts";
import type { LedgerEvents } from "#budget/events.ts";
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
} from "#ports/budget-ledger.ts";
import type { EventLog } from "#ports/event-log.ts";
import type { EventView, Page, PageRequest, Reply } from "#ports/thread-gateway.ts";
import { AppError } from "#shared/errors.ts";
import { fromLedgerName, type TenantId } from "#shared/ids.ts";
import type { Json } from "#shared/json.ts";
import { takePage } from "./agent/pages.ts";
import type { LedgerComposition } from "./ledger/composition.ts";
import { openLog, openStorage } from "./object-storage.ts";

/** A composition root extends it and gives `compose`. Static, because an instance's methods can be called over RPC. */
export class BudgetObject<E extends object = object>
  extends DurableObject<E>
  implements LedgerStub
{
  static readonly compose: (env: never) => LedgerComposition = () => {
    throw new AppError("config_invalid", "this class has no composition", { kind: "faulted" });
  };
  readonly #composition: LedgerComposition;
  #opened: { readonly ledger: TenantLedger; readonly log: EventLog<LedgerEvents> } | null = null;

  constructor(ctx: DurableObjectState, env: E) {
    super(ctx, env);
    // The subclass takes the environment of its own deployment.
    const compose = new.target.compose as (env: E) => LedgerComposition;
    this.#composition = compose(env);
  }

  async lease(request: LeaseRequest): Promise<LeaseAnswer> {
    const answer = this.#open().ledger.lease(request);
    if (answer.granted) await this.#arm();
    return answer;
  }

  async report(reports: readonly LeaseReport[]): Promise<void> {
    this.#open().ledger.report(reports);
  }

  async budgets(): Promise<readonly BudgetView[]> {
    return this.#open().ledger.budgets();
  }

  async putBudget(spec: BudgetSpec, actor: string): Promise<Reply<BudgetView>> {
    return this.#open().ledger.put(spec, actor);
  }

  async deleteBudget(budgetId: string, actor: string): Promise<Reply<null>> {
    return this.#open().ledger.remove(budgetId, actor);
  }

  async leases(): Promise<readonly LeaseView[]> {
    return this.#open().ledger.leases();
  }

  async events(page: PageRequest): Promise<Page<EventView>> {
    const { log } = this.#open();
    return takePage(
      { head: log.head().seq, page },
      {
        read: (from, limit) => log.read({ from, limit }),
        seq: (event) => event.header.seq,
        bytes: (event) => event.header.payload.bytes,
        item: ({ header, hash, payload }) => ({
          header,
          hash,
          payload: payload as unknown as Json,
        }),
      },
    );
  }

  override async alarm(): Promise<void> {
    const { threads, clock, askAfterMs } = this.#composition;
    const { ledger } = this.#open();
    const tenant = this.#tenant();
    await askHolders(
      ledger,
      ({ agent, thread }, { leaseId, decline }) =>
        threads.thread({ tenant, agent, thread }).askLease(leaseId, decline),
      { now: clock.now(), askAfterMs },
    );
    if (this.#open().ledger.state.leases.size > 0) await this.#arm();
  }

  async #arm(): Promise<void> {
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null)
      await storage.setAlarm(Date.now() + this.#composition.askAfterMs);
  }

  #open(): { readonly ledger: TenantLedger; readonly log: EventLog<LedgerEvents> } {
    if (this.#opened !== null && !this.#opened.ledger.closed) return this.#opened;
    const { migrations, clock } = this.#composition;
    const storage = openStorage(this.ctx.storage, migrations);
    const shelf = new SqliteLeaseShelf(storage.database);
    const log = openLog<LedgerEvents>(storage, {
      catalogue: LEDGER_CATALOGUE,
      defaults: { tenant: this.#tenant() },
      projections: [new LeasesProjection(shelf)],
    });
    return (this.#opened = { log, ledger: new TenantLedger({ log, shelf, clock }) });
  }

  #tenant(): TenantId {
    const tenant = fromLedgerName(this.ctx.id.name ?? "");
    if (tenant === null) throw new AppError("not_found", "no such ledger");
    return tenant;
  }
}
