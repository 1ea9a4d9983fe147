/**
 * Usage that comes late: the event that replaces what an attempt was taken to have cost (B26).
 *
 * Only an estimate, or a cost that nobody knew, is replaced; what the provider said when it answered stays. The cost is
 * booked where the outcome was: same run, step, attempt, lease and day.
 */
import { err, ok, type Result } from "#shared/result.ts";
import type { Rejection } from "./commands.ts";
import type { CostKind, Settlement, ThreadDraft, ThreadEvent } from "./events.ts";

export interface LateUsage {
  readonly after: Settlement;
  readonly priceVersion: string | null;
}

export function toCorrection(
  outcome: ThreadEvent,
  { after, priceVersion }: LateUsage,
): Result<ThreadDraft, Rejection> {
  const before = settlementOf(outcome);
  if (before === null) return err({ reason: "usage_unknown" });
  if (!before.estimated && before.unpriced !== true) return err({ reason: "usage_final" });
  if (after.unpriced === true && before.unpriced !== true) return err({ reason: "usage_unpriced" });
  const { run, definition, step, attempt, cause, leaseId, at } = outcome.header;
  const kind = outcome.header.costKind ?? "normal";
  const paid: CostKind = kind === "recovery" ? "recovery" : "normal";
  return ok({
    type: "usage.corrected",
    payload: {
      outcomeAt: at,
      before: { settlement: before, kind },
      after: { settlement: after, kind: paid },
    },
    scope: {
      run,
      definition,
      step,
      attempt,
      cause,
      leaseId,
      costMicros: after.unpriced === true ? null : after.costMicros - before.costMicros,
      costKind: paid,
      priceVersion,
    },
  });
}

/** Of an outcome of a model call; null for anything else, and once its payload is erased. */
function settlementOf({ type, payload }: ThreadEvent): Settlement | null {
  switch (type) {
    case "model.answered":
    case "model.failed":
    case "model.interrupted":
      return payload?.settlement ?? null;
    default:
      return null;
  }
}
