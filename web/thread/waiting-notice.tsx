/** Leads to what waits for the person, which may be far up in a long conversation. */
import type { ReactNode } from "react";
import type { Approval } from "#client/types.ts";
import { Icon } from "../app/icon.tsx";

export function WaitingNotice({ open }: { readonly open: readonly Approval[] }): ReactNode {
  const [first] = open;
  if (first === undefined) return null;
  const questions = open.filter(({ kind }) => kind === "question").length;
  const calls = open.length - questions;
  const said = [
    ...(calls === 0
      ? []
      : [calls === 1 ? "1 call needs your approval" : `${calls} calls need your approval`]),
    ...(questions === 0
      ? []
      : [
          questions === 1
            ? "1 question waits for your answer"
            : `${questions} questions wait for your answers`,
        ]),
  ];
  return (
    <div className="waiting" role="status">
      <Icon name="person" />
      <span className="grow">{said.join(", ")}.</span>
      <button
        type="button"
        className="button button-small"
        onClick={() => {
          const card = document.getElementById(`approval-${first.approvalId}`);
          card?.scrollIntoView({ block: "center" });
          card?.focus();
        }}
      >
        Show
      </button>
    </div>
  );
}
