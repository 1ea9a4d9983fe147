/** One tool call: who was asked and decided, what ran with which arguments, and what came back. */
import type { ReactNode } from "react";
import type { ExplainedStep } from "../api/types.ts";
import { formatTime } from "../app/format.ts";
import { Fields, JsonView } from "../message/json-view.tsx";
import { Erased, Evidence } from "./evidence.tsx";
import { costWords, DECISIONS, verdictWords } from "./words.ts";

type Call = ExplainedStep["calls"][number];
type Approval = Call["approvals"][number];
type Attempt = Call["attempts"][number];

export function ExplainedCall({ call }: { readonly call: Call }): ReactNode {
  const { name, approvals, attempts, refusal } = call;
  return (
    <div className="explained-part">
      <h4>
        Tool <code>{name ?? "(erased)"}</code>
      </h4>
      {approvals.map((approval) => (
        <Decided key={approval.approvalId} approval={approval} />
      ))}
      {attempts.map((attempt) => (
        <ToolAttempt key={attempt.seq} attempt={attempt} />
      ))}
      {refusal !== null && (
        <>
          <p className="call-label">Not run</p>
          {refusal.refusal === null ? (
            <Erased what="The reason" />
          ) : (
            <JsonView value={`${refusal.refusal.code}: ${refusal.refusal.message}`} />
          )}
          <Evidence {...refusal} />
        </>
      )}
    </div>
  );
}

export function Decided({ approval }: { readonly approval: Approval }): ReactNode {
  const { kind, requested, shown, decided, decision, decidedBy, comment, answer, refused } =
    approval;
  return (
    <>
      <p className="call-label">
        {kind === "question" ? "A person was asked" : "Approval asked for"}
      </p>
      {shown === null ? <Erased what="What was shown" /> : <Fields value={shown} />}
      <Evidence {...requested} />
      {decided === null ? (
        <p className="decided">Not decided yet.</p>
      ) : (
        <>
          <p className="decided">
            <strong>{decision === null ? "Decided" : DECISIONS[decision]}</strong>
            {decidedBy !== null && <> by {decidedBy}</>}, {formatTime(decided.at)}
            {comment !== null && <>: “{comment}”</>}
          </p>
          {answer !== null && <JsonView value={answer} />}
          <Evidence {...decided} />
        </>
      )}
      {refused.map((late) => (
        <p key={late.seq} className="decided">
          {late.by ?? "Somebody"} decided later, which changed nothing, {formatTime(late.at)}.
        </p>
      ))}
    </>
  );
}

function ToolAttempt({ attempt }: { readonly attempt: Attempt }): ReactNode {
  const { mode, args, verdicts, outcome, erased, effect, version } = attempt;
  const what = mode === "check" ? "It was checked whether this had happened" : "It ran with";
  return (
    <>
      <p className="call-label">
        {what}
        {attempt.attempt > 1 && <>, attempt {attempt.attempt}</>}
      </p>
      {erased ? <Erased what="The call" /> : <Fields value={args ?? {}} />}
      {verdicts !== null && (
        <p className="small muted">
          {verdictWords(verdicts)}
          {version !== null && <> · version {version}</>}
          {effect !== null && <> · effect {effect}</>}
        </p>
      )}
      <Evidence {...attempt} />
      {outcome === null ? (
        <p className="muted small">It has no result yet.</p>
      ) : (
        <ToolOutcome outcome={outcome} />
      )}
    </>
  );
}

function ToolOutcome({
  outcome,
}: {
  readonly outcome: NonNullable<Attempt["outcome"]>;
}): ReactNode {
  const { status, result, erased, cost } = outcome;
  return (
    <>
      <p className="call-label">{OUTCOMES[status]}</p>
      {erased && <Erased what="The result" />}
      {result !== null && (
        <JsonView
          value={result.code === null ? result.output : `${result.code}: ${result.output}`}
        />
      )}
      {(cost.micros ?? 0) > 0 && <p className="small muted">{costWords(cost)}</p>}
      <Evidence {...outcome} />
    </>
  );
}

const OUTCOMES = {
  finished: "It returned",
  interrupted: "It was interrupted",
  late: "It returned too late to be used",
} as const;
