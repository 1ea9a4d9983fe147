/** LeasesProjection: keeps the shelf of all leases in step with the ledger's log. */
import { mapAmounts, NOTHING } from "#kernel/leases.ts";
import type { Projection } from "#ports/event-log.ts";
import type { LeaseShelf } from "#ports/lease-shelf.ts";
import type { LedgerEvent, LedgerEvents } from "./events.ts";

export class LeasesProjection implements Projection<LedgerEvents> {
  readonly name = "leases";
  readonly version = 1;
  readonly #shelf: LeaseShelf;

  constructor(shelf: LeaseShelf) {
    this.#shelf = shelf;
  }

  reset(): void {
    this.#shelf.clear();
  }

  apply({ type, payload }: LedgerEvent): void {
    if (payload === null) return;
    switch (type) {
      case "lease.granted": {
        const { leaseId, holder, at } = payload;
        const known = this.#shelf.get(leaseId);
        if (known !== null) return;
        this.#shelf.put({ leaseId, holder, at, open: true, seq: 0, settled: NOTHING });
        return;
      }
      case "lease.settled":
      case "lease.closed": {
        const known = this.#shelf.get(payload.leaseId);
        if (known === null) return;
        const { seq, settled } = payload;
        this.#shelf.put({ ...known, seq, settled, open: type === "lease.settled" });
        return;
      }
      case "lease.corrected": {
        const known = this.#shelf.get(payload.leaseId);
        if (known === null) return;
        const { seq, delta } = payload;
        const settled = mapAmounts((unit) => known.settled[unit] + delta[unit]);
        this.#shelf.put({ ...known, seq, settled });
        return;
      }
      default:
        return;
    }
  }
}
