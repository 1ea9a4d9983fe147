/** Why a run answered what it answered: each step with the events that say so. */
import type { ReactNode } from "react";
import type { Api } from "../api/api.ts";
import type { Explanation, Run } from "#client/types.ts";
import type { Place } from "../api/types.ts";
import { formatCost, formatKnownCost, plural } from "../app/format.ts";
import { Notice } from "../app/notice.tsx";
import { SidePanel } from "../app/side-panel.tsx";
import { JsonView } from "../message/json-view.tsx";
import { Erased, Evidence } from "./evidence.tsx";
import { PromptMark } from "./prompt.tsx";
import { Notes, Step } from "./step.tsx";
import { useExplanation } from "./use-explanation.ts";

interface Props {
  readonly api: Api;
  readonly place: Place;
  readonly run: string;
  /** What the page knows of the run; null where it has not been read. */
  readonly known: Run | null;
  readonly onClose: () => void;
}

export function ExplainPanel({ api, place, run, known, onClose }: Props): ReactNode {
  const { explanation, error, loading, more, reload } = useExplanation(api, {
    place,
    run,
    status: known?.status ?? null,
  });
  return (
    <SidePanel title="Explanation" closeLabel="Close the explanation" wide onClose={onClose}>
      <div className="side-body" role="region" aria-label="Steps of the run" tabIndex={0}>
        {error !== null && (
          <Notice kind="error" text={error}>
            <button type="button" className="text-button" onClick={reload}>
              Try again
            </button>
          </Notice>
        )}
        {explanation === null && error === null && <p className="empty">Reading the log …</p>}
        {explanation !== null && (
          <>
            <Summary explanation={explanation} known={known} />
            <Inputs inputs={explanation.inputs} />
            {explanation.steps.map((step) => (
              <Step key={step.step} step={step} />
            ))}
            {explanation.next !== null && (
              <button type="button" className="button" disabled={loading} onClick={more}>
                Show the next steps
              </button>
            )}
            <End explanation={explanation} known={known} onReload={reload} />
          </>
        )}
      </div>
    </SidePanel>
  );
}

function Summary(props: {
  readonly explanation: Explanation;
  readonly known: Run | null;
}): ReactNode {
  const { explanation, known } = props;
  const { pin, steps, erased, runId } = explanation;
  const prompts = steps.flatMap(({ attempts }) => attempts.map(({ prompt }) => prompt));
  const read = prompts.filter((prompt) => prompt !== null);
  return (
    <section className="explained" aria-label="Summary">
      {read.length > 0 && <PromptMark prompts={read} />}
      {erased > 0 && (
        <p className="erased">
          The content of {plural(erased, "event")} was erased. What is left still verifies.
        </p>
      )}
      <dl className="facts">
        {known !== null && (
          <>
            <dt>Cost</dt>
            <dd>
              {formatKnownCost(known)}
              {known.recoveryMicros > 0 && <>, {formatCost(known.recoveryMicros)} for recovery</>}
              {known.estimatedMicros > 0 && <>, {formatCost(known.estimatedMicros)} estimated</>}
            </dd>
          </>
        )}
        <dt>Run</dt>
        <dd>
          <code>{runId}</code>
        </dd>
        {pin !== null && (
          <>
            <dt>Definition</dt>
            <dd>
              <code>{pin.definition}</code>
            </dd>
          </>
        )}
      </dl>
      {pin !== null && (
        <details className="fold">
          <summary>The agent as it was when this run began</summary>
          <JsonView value={pin.manifest} />
          <Evidence {...pin} />
        </details>
      )}
    </section>
  );
}

function Inputs({ inputs }: Pick<Explanation, "inputs">): ReactNode {
  if (inputs.length === 0) return null;
  return (
    <section className="explained">
      <h3>It was asked</h3>
      {inputs.map((input) => (
        <div key={input.seq}>
          {input.erased ? (
            <Erased what="The message" />
          ) : (
            <JsonView value={textOf(input.payload)} />
          )}
          <Evidence {...input} />
        </div>
      ))}
    </section>
  );
}

function End(props: {
  readonly explanation: Explanation;
  readonly known: Run | null;
  readonly onReload: () => void;
}): ReactNode {
  const { explanation, onReload } = props;
  const { end, later, next } = explanation;
  if (next !== null) return null;
  if (end === null) {
    return (
      <p className="muted small">
        The run has not ended.{" "}
        <button type="button" className="text-button" onClick={onReload}>
          Read again
        </button>
      </p>
    );
  }
  return (
    <section className="explained">
      <h3>It ended</h3>
      <Notes notes={[end]} />
      {later.length > 0 && (
        <>
          <h3>Recorded afterwards</h3>
          <Notes notes={later} />
        </>
      )}
    </section>
  );
}

/** A message is read as its words; anything else that begins a run as the event has it. */
function textOf(payload: unknown): unknown {
  if (typeof payload !== "object" || payload === null) return payload;
  return "text" in payload && typeof payload.text === "string" ? payload.text : payload;
}
