/** A real ledger without budgets: every run leases from it, as in a deployment. */
import { BudgetObject } from "../durable-objects/ledger-object.ts";
import type { LedgerComposition } from "../durable-objects/ledger/composition.ts";
import { OBJECT_MIGRATIONS } from "../migrations/object/index.ts";
import { UNSIGNED } from "./composition.ts";
import { SystemClock } from "../src/adapters/clock/system-clock.ts";

export class LedgerObject extends BudgetObject<Cloudflare.Env> {
  static override readonly compose = (): LedgerComposition => ({
    migrations: OBJECT_MIGRATIONS,
    clock: new SystemClock(),
    threads: {
      thread: () => {
        throw new Error("the bench ends before a lease is asked about");
      },
    },
    askAfterMs: 3_600_000,
    // No key, so nothing is anchored.
    audit: UNSIGNED,
    report: () => undefined,
  });
}
