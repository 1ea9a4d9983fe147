/** Codes of the record in words. */
import type { ExplainedStep } from "../api/types.ts";
import { formatCost } from "../app/format.ts";

type Attempt = ExplainedStep["attempts"][number];
type CostOf = NonNullable<Attempt["outcome"]>["cost"];

export const DECISIONS = {
  approved: "Approved",
  denied: "Denied",
  answered: "Answered",
  expired: "Expired unanswered",
  cancelled: "Not decided: the run was stopped",
  superseded: "Not decided: a newer message came",
} as const;

export function costWords({ micros, kind, priceVersion }: CostOf): string {
  if (micros === null) return "Price unknown";
  const marks = [
    ...(kind === "recovery" ? ["for recovery"] : []),
    ...(kind === "estimated" ? ["estimated"] : []),
    ...(priceVersion === null ? [] : [`price ${priceVersion}`]),
  ];
  return [formatCost(micros), ...marks].join(", ");
}

export function verdictWords({ policy, guardrail, loopGuard, approval }: Attempt["verdicts"]) {
  const said = [
    `policy: ${policy}`,
    `guardrail: ${guardrail}`,
    `loop guard: ${loopGuard}`,
    ...(approval === undefined ? [] : ["approved"]),
  ];
  return said.join(" · ");
}
