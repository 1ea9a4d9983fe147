/** A run that waits at a budget's limit: decided by who may operate; anybody else is told whom to ask (B55). */
import type { ReactNode } from "react";
import type { Approval, Decision } from "#client/types.ts";
import { Notice } from "../app/notice.tsx";
import { ApprovalCard } from "../message/approval-card.tsx";

interface Props {
  readonly open: readonly Approval[];
  /** Null for who may not. */
  readonly onDecide: ((approvalId: string, decision: Decision) => Promise<boolean>) | null;
}

export function BudgetAsk({ open, onDecide }: Props): ReactNode {
  const asked = open.filter(({ kind }) => kind === "budget");
  if (asked.length === 0) return null;
  return <div className="budget-ask">{asked.map(toCard)}</div>;

  function toCard(approval: Approval): ReactNode {
    const { approvalId, tool } = approval;
    if (onDecide === null)
      return (
        <Notice
          key={approvalId}
          kind="warn"
          text={`The budget ${tool ?? ""} has no room for the next step. Ask an operator to grant more, or stop this run.`}
        />
      );
    return (
      <ApprovalCard
        key={approvalId}
        approval={approval}
        tool={tool ?? ""}
        onDecide={(decision) => onDecide(approvalId, decision)}
      />
    );
  }
}
