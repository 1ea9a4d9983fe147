/** A question of the agent. Simple schemas become fields; any other is answered as JSON, which the server checks. */
import { useState, type ReactNode, type SyntheticEvent } from "react";
import type { Approval, Decision } from "#client/types.ts";
import { formatTime } from "../app/format.ts";
import { Icon } from "../app/icon.tsx";
import { focusNextCard } from "./approval-card.tsx";
import { AnswerField } from "./answer-field.tsx";
import { readAnswer, toShape, type Draft } from "./answer-shape.ts";

interface Props {
  readonly approval: Approval;
  readonly onDecide: (decision: Decision) => Promise<boolean>;
}

export function QuestionForm({ approval, onDecide }: Props): ReactNode {
  const shape = toShape(approval.answerSchema);
  const [draft, setDraft] = useState<Draft>({});
  const [problem, setProblem] = useState<string | null>(null);
  const [sent, setSent] = useState(false);
  const id = `approval-${approval.approvalId}`;

  async function decide(decision: Decision): Promise<void> {
    setSent(true);
    if (await onDecide(decision)) focusNextCard(id);
    else setSent(false);
  }
  function submit(event: SyntheticEvent): void {
    event.preventDefault();
    const read = readAnswer(shape, draft);
    setProblem(read.ok ? null : read.problem);
    if (read.ok) void decide({ decision: "answer", answer: read.answer });
  }
  return (
    <form className="ask" id={id} tabIndex={-1} aria-labelledby={`${id}-title`} onSubmit={submit}>
      <h2 id={`${id}-title`} className="ask-title">
        <Icon name="person" /> {approval.question ?? "The agent asks"}
      </h2>
      {shape.fields.map((field) => (
        <AnswerField
          key={field.name}
          id={`${id}-${field.name}`}
          field={field}
          value={draft[field.name] ?? ""}
          onChange={(value) => setDraft({ ...draft, [field.name]: value })}
        />
      ))}
      {problem !== null && (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      )}
      <div className="row">
        <button type="submit" className="button button-primary" disabled={sent}>
          Answer
        </button>
        <button
          type="button"
          className="button"
          disabled={sent}
          onClick={() => void decide({ decision: "deny" })}
        >
          Do not answer
        </button>
        {approval.expiresAt !== null && (
          <span className="small muted">Open until {formatTime(approval.expiresAt)}</span>
        )}
      </div>
    </form>
  );
}
