/**
 * Usage of a model attempt whose intent was closed while it was answering: a cancelled run takes the whole reservation
 * as spent, and when the provider says after all what was used, that replaces it (B26).
 */
import type { ThreadDraft } from "#kernel/events.ts";
import { toCorrection } from "#kernel/usage-correction.ts";
import type { Outcome } from "./crossing.ts";
import type { Journal } from "./journal.ts";

/** Null where the late outcome knows no better than what was recorded, or something else was recorded since. */
export function lateUsage(
  journal: Pick<Journal, "recentOutcomeOf">,
  intentId: string,
  { settlement, drafts }: Pick<Outcome, "settlement" | "drafts">,
): ThreadDraft | null {
  if (settlement.estimated || settlement.usage === undefined) return null;
  const closed = journal.recentOutcomeOf(intentId);
  if (closed === null) return null;
  const priceVersion = drafts[0]?.scope?.priceVersion ?? null;
  const correction = toCorrection(closed, { after: settlement, priceVersion });
  return correction.ok ? correction.value : null;
}
