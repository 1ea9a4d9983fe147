/**
 * LedgerObject: the budgets of one tenant, leased to its threads.
 *
 * Declared in migration v1 and opening a log of the common format, so that budgets can be added without a migration of
 * classes. It has no events of its own yet, and says so in its head.
 */
import { DurableObject } from "cloudflare:workers";
import type { EventLog, LogHead } from "#ports/event-log.ts";
import { OBJECT_MIGRATIONS } from "#migrations/object/index.ts";
import { openLog, openStorage } from "./object-storage.ts";

type LedgerEvents = Record<never, never>;

export class LedgerObject extends DurableObject {
  readonly #log: EventLog<LedgerEvents>;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.#log = openLog<LedgerEvents>(openStorage(ctx.storage, OBJECT_MIGRATIONS), {
      catalogue: { name: "ledger", versions: {}, upcast: (_type, _version, payload) => payload },
      defaults: {},
      projections: [],
    });
  }

  async head(): Promise<LogHead> {
    return this.#log.head();
  }
}
