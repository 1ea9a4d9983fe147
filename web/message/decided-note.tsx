import type { ReactNode } from "react";
import type { Approval } from "#client/types.ts";
import { formatTime } from "../app/format.ts";

const WORDS = {
  approved: "Approved",
  denied: "Denied",
  answered: "Answered",
  expired: "Expired unanswered",
  cancelled: "Not decided: the run was stopped",
  superseded: "Not decided: a newer message came",
} as const;

/** Who decided, when, and what they said. */
export function DecidedNote({ approval }: { readonly approval: Approval }): ReactNode {
  const { decision, decidedBy, decidedAt, comment } = approval;
  if (decision === null) return null;
  return (
    <p className="decided">
      <strong>{WORDS[decision]}</strong>
      {decidedBy !== null && <> by {decidedBy}</>}
      {decidedAt !== null && <>, {formatTime(decidedAt)}</>}
      {comment !== null && <>: “{comment}”</>}
    </p>
  );
}
