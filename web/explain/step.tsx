/** One step: the model calls that it took, what was chosen, the tools that ran, and all else that was recorded. */
import type { ReactNode } from "react";
import type { ExplainedStep } from "../api/types.ts";
import { formatCost, formatKnownCost, plural } from "../app/format.ts";
import { JsonView } from "../message/json-view.tsx";
import { Decided, ExplainedCall } from "./call.tsx";
import { Erased, Evidence } from "./evidence.tsx";
import { PromptView } from "./prompt.tsx";
import { costWords, verdictWords } from "./words.ts";

type Attempt = ExplainedStep["attempts"][number];

export function Step({ step }: { readonly step: ExplainedStep }): ReactNode {
  const { attempts, approvals, calls, notes, costMicros, recoveryMicros } = step;
  const unpriced = attempts.filter(({ outcome }) => outcome?.cost.micros === null).length;
  return (
    <section className="explained">
      <h3>
        Step {step.step}
        <span className="explained-cost">
          {formatKnownCost({ costMicros, unpriced })}
          {recoveryMicros > 0 && <>, {formatCost(recoveryMicros)} for recovery</>}
        </span>
      </h3>
      {approvals.map((approval) => (
        <Decided key={approval.approvalId} approval={approval} />
      ))}
      {attempts.map((attempt) => (
        <ModelAttempt key={attempt.seq} attempt={attempt} />
      ))}
      {calls.map((call) => (
        <ExplainedCall key={call.callId} call={call} />
      ))}
      {notes.length > 0 && <Notes notes={notes} />}
    </section>
  );
}

function ModelAttempt({ attempt }: { readonly attempt: Attempt }): ReactNode {
  const { route, outcome, verdicts } = attempt;
  return (
    <div className="explained-part">
      <h4>
        Model <code>{route}</code>
        {attempt.attempt > 1 && <>, attempt {attempt.attempt}</>}
      </h4>
      <PromptView attempt={attempt} />
      <p className="small muted">{verdictWords(verdicts)}</p>
      <Evidence {...attempt} />
      {outcome === null ? (
        <p className="muted small">It has not answered yet.</p>
      ) : (
        <Outcome outcome={outcome} />
      )}
    </div>
  );
}

function Outcome({ outcome }: { readonly outcome: NonNullable<Attempt["outcome"]> }): ReactNode {
  const { status, erased, parts, code, message, usage, cost } = outcome;
  const input = usage?.inputTokens ?? null;
  const output = usage?.outputTokens ?? null;
  return (
    <>
      <p className="call-label">{OUTCOMES[status]}</p>
      {erased && <Erased what="The answer" />}
      {code !== null && <JsonView value={message === null ? code : `${code}: ${message}`} />}
      {parts.map((part, index) => (
        // Parts of a recorded answer have no ids and never change.
        <JsonView
          key={index}
          value={part.type === "call" ? `${part.name}(${part.argsText})` : part.text}
        />
      ))}
      <p className="small muted">
        {costWords(cost)}
        {input !== null && <> · {plural(input, "token")} in</>}
        {output !== null && <> · {plural(output, "token")} out</>}
      </p>
      <Evidence {...outcome} />
    </>
  );
}

const OUTCOMES = {
  answered: "It chose",
  failed: "It failed",
  interrupted: "It was interrupted, and made again",
} as const;

/** Reminders, files, plans, budgets, ends: as they are recorded. */
export function Notes({ notes }: { readonly notes: ExplainedStep["notes"] }): ReactNode {
  return (
    <ul className="explained-notes">
      {notes.map((note) => (
        <li key={note.seq}>
          <details className="fold">
            <summary>
              <code>{note.type}</code> {note.erased && <span className="muted">(erased)</span>}
            </summary>
            {note.erased ? <Erased what="The content" /> : <JsonView value={note.payload} />}
            <Evidence {...note} />
          </details>
        </li>
      ))}
    </ul>
  );
}
