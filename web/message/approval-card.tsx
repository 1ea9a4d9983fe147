/** What waits for a yes or no: a call with exactly what would run (A2), or a budget with what would be granted (B55). */
import { useState, type ReactNode } from "react";
import type { Approval, Decision } from "#client/types.ts";
import { formatTime } from "../app/format.ts";
import { Icon } from "../app/icon.tsx";
import { toBudgetFields } from "./budget-fields.ts";
import { Fields } from "./json-view.tsx";

interface Props {
  readonly approval: Approval;
  readonly tool: string;
  /** False where it was refused. */
  readonly onDecide: (decision: Decision) => Promise<boolean>;
}

export function ApprovalCard({ approval, tool, onDecide }: Props): ReactNode {
  const [comment, setComment] = useState("");
  const [sent, setSent] = useState(false);
  const id = `approval-${approval.approvalId}`;
  async function decide(decision: "approve" | "deny"): Promise<void> {
    setSent(true);
    const said = comment.trim();
    const decided = await onDecide(said === "" ? { decision } : { decision, comment: said });
    // Once decided it stays shut: the card goes away when the page has read that it is decided.
    if (decided) focusNextCard(id);
    else setSent(false);
  }
  return (
    <section className="ask" id={id} tabIndex={-1} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} className="ask-title">
        <Icon name="person" />
        <span>
          {approval.budget === null ? (
            <>
              May it run <code>{tool}</code>?
            </>
          ) : (
            <>
              May it spend more of the budget <code>{tool}</code>?
            </>
          )}
        </span>
      </h2>
      {approval.budget === null ? (
        <Fields value={approval.args} />
      ) : (
        <Fields value={toBudgetFields(approval.budget)} said />
      )}
      <label className="ask-comment">
        <span className="small muted">
          Comment {approval.budget === null && "(the agent reads it if you deny)"}
        </span>
        <input
          type="text"
          value={comment}
          maxLength={2_000}
          disabled={sent}
          onChange={(event) => setComment(event.target.value)}
        />
      </label>
      <div className="row">
        <button
          type="button"
          className="button button-primary"
          disabled={sent}
          onClick={() => void decide("approve")}
        >
          Approve
        </button>
        <button
          type="button"
          className="button button-danger"
          disabled={sent}
          onClick={() => void decide("deny")}
        >
          Deny
        </button>
        {approval.expiresAt !== null && (
          <span className="small muted">Open until {formatTime(approval.expiresAt)}</span>
        )}
      </div>
    </section>
  );
}

/** The keyboard goes on to the next decision, or back to the message field; not when the person has gone elsewhere meanwhile. */
export function focusNextCard(decided: string): void {
  const active = document.activeElement;
  const isHere = active?.closest(`#${decided}`) !== null;
  if (active !== document.body && !isHere) return;
  const cards = [...document.querySelectorAll<HTMLElement>(".ask")];
  const next = cards.find(({ id }) => id !== decided) ?? document.getElementById("composer");
  next?.focus();
}
