/**
 * Asks holders what became of leases that nobody was heard of for a while. A lease is given back on the word of its
 * holder's log only: settled and closed, or declined in writing; never because time has passed (B46).
 */
import type { LeaseHolder, LeaseStatement } from "#ports/budget-ledger.ts";
import type { Lease } from "./state.ts";
import type { TenantLedger } from "./tenant-ledger.ts";

/** `decline`: where its log does not hold the lease, the holder shall record that it never will. */
export type AskHolder = (
  holder: LeaseHolder,
  question: { readonly leaseId: string; readonly decline: boolean },
) => Promise<LeaseStatement>;

export async function askHolders(
  ledger: TenantLedger,
  ask: AskHolder,
  { now, askAfterMs }: { readonly now: number; readonly askAfterMs: number },
): Promise<void> {
  const silent = [...ledger.state.leases.values()].filter(
    ({ heardAt }) => now - heardAt >= askAfterMs,
  );
  await Promise.all(silent.map((lease) => askOne(ledger, ask, lease)));
}

/** Afterwards the lease is closed, known to be held, or known as unreachable. */
export async function askOne(
  ledger: TenantLedger,
  ask: AskHolder,
  { holder, leaseId }: Pick<Lease, "holder" | "leaseId">,
): Promise<void> {
  try {
    await settleOne(ledger, (decline) => ask(holder, { leaseId, decline }), leaseId);
    ledger.noteReached(leaseId);
  } catch {
    ledger.noteUnreachable(leaseId);
  }
}

async function settleOne(
  ledger: TenantLedger,
  ask: (decline: boolean) => Promise<LeaseStatement>,
  leaseId: string,
): Promise<void> {
  const said = await ask(false);
  // Asking made the holder tell all that its log holds, so the lease may be closed by now.
  if (!ledger.isOpen(leaseId)) return;
  const statement = said.type === "absent" ? await ask(true) : said;
  if (statement.type === "settled" || statement.type === "declined") ledger.report([statement]);
}
