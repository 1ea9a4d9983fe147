/**
 * LedgerObject: the budgets of one tenant as a Durable Object. Thin: storage, one alarm, RPC; the rules are #budget's.
 *
 * O1 Before a lease is answered, an alarm is set: whatever becomes of its holder, somebody will ask (B46).
 * O2 With no lease open and every head that is due signed there is no alarm, so an idle ledger hibernates.
 * O3 Its log is anchored behind its work, by that alarm (H13).
 */
import { DurableObject } from "cloudflare:workers";
import { SqliteLeaseShelf } from "#adapters/lease-shelf/sqlite-lease-shelf.ts";
import { anchorsConsumer } from "#audit/anchoring.ts";
import { askHolders, askOne, type AskHolder } from "#budget/ask-holders.ts";
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
  WriteOff,
  WriteOffView,
} from "#ports/budget-ledger.ts";
import type { Anchor } from "#ports/anchors.ts";
import type { LogBounds } from "#ports/audit-export.ts";
import type { EventLog, RawEvent } from "#ports/event-log.ts";
import type { EventView, Failure, Page, PageRequest, Reply } from "#ports/thread-gateway.ts";
import { AppError } from "#shared/errors.ts";
import { fromLedgerName, type TenantId } from "#shared/ids.ts";
import type { Json } from "#shared/json.ts";
import { err } from "#shared/result.ts";
import { pageRaw, takePage } from "./agent/pages.ts";
import type { LedgerComposition } from "./ledger/composition.ts";
import { openLog, openStorage } from "./object-storage.ts";

/** What people change of budgets is signed at once; leases at every hundredth event. */
const OPERATORS_ACTS = new Set(["budget.set", "budget.deleted", "budget.raised"] as const);
const HELD: Failure = {
  code: "conflict",
  message: "the thread that holds this lease answers; halt it, and the lease is given back",
  detail: {},
  retryable: false,
};

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
    await this.#arm();
  }

  async budgets(): Promise<readonly BudgetView[]> {
    return this.#open().ledger.budgets();
  }

  async putBudget(spec: BudgetSpec, actor: string): Promise<Reply<BudgetView>> {
    const put = this.#open().ledger.put(spec, actor);
    await this.#arm();
    return put;
  }

  async deleteBudget(budgetId: string, actor: string): Promise<Reply<null>> {
    const removed = this.#open().ledger.remove(budgetId, actor);
    await this.#arm();
    return removed;
  }

  async leases(): Promise<readonly LeaseView[]> {
    return this.#open().ledger.leases();
  }

  /** On its holder's word, where it can be had; else on the operator's. */
  async writeOff(request: WriteOff, actor: string): Promise<Reply<WriteOffView>> {
    const { leaseId } = request;
    const lease = this.#open().ledger.state.leases.get(leaseId);
    if (lease !== undefined) await askOne(this.#open().ledger, this.#ask(), lease);
    const { ledger } = this.#open();
    if (ledger.isOpen(leaseId) && !ledger.isUnreachable(leaseId)) return err(HELD);
    const written = ledger.writeOff(request, actor);
    await this.#arm();
    return written;
  }

  async auditBounds(): Promise<LogBounds> {
    const { log } = this.#open();
    return { logId: log.logId, base: log.base(), head: log.head() };
  }

  async export(page: PageRequest): Promise<Page<RawEvent>> {
    return pageRaw(this.#open().log, page);
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
    const { clock, askAfterMs } = this.#composition;
    const { ledger } = this.#open();
    await askHolders(ledger, this.#ask(), { now: clock.now(), askAfterMs });
    const isLeft = await this.#anchor();
    if (isLeft || this.#open().ledger.state.leases.size > 0) await this.#arm();
  }

  #ask(): AskHolder {
    const { threads } = this.#composition;
    const tenant = this.#tenant();
    return ({ agent, thread }, { leaseId, decline }) =>
      threads.thread({ tenant, agent, thread }).askLease(leaseId, decline);
  }

  /** True while something is left: a store that is away is tried again, and leases are asked about all the same. */
  async #anchor(): Promise<boolean> {
    const { audit, clock, report } = this.#composition;
    const { log } = this.#open();
    if (audit.signer === null || !log.mode.writable) return false;
    const owner = { tenant: this.#tenant(), agent: null, thread: null };
    const conflict = ({ seq }: Anchor): void =>
      report({
        event: "anchor_conflict",
        object: log.logId,
        message: `event ${seq} was signed with another hash before`,
      });
    const { signer, anchors, copies } = audit;
    try {
      return await log.drain([
        anchorsConsumer<LedgerEvents>(
          { ...owner, logId: log.logId, after: OPERATORS_ACTS },
          { signer, anchors, copies, clock, conflict },
        ),
      ]);
    } catch (error) {
      const message = error instanceof Error ? error.message : "unknown";
      report({ event: "anchors_wait", object: log.logId, message });
      return true;
    }
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
