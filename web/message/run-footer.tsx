/** How a run ended, in words that say what to do, and what it cost. */
import type { ReactNode } from "react";
import type { Run } from "#client/types.ts";
import { formatCost, formatDuration, formatKnownCost, plural } from "../app/format.ts";
import { Icon, IconButton } from "../app/icon.tsx";
import { toAdvice } from "./run-advice.ts";

export function RunFooter(props: {
  readonly run: Run | null;
  readonly onRegenerate: (() => void) | null;
  readonly onExplain: (runId: string) => void;
}): ReactNode {
  const { run, onRegenerate, onExplain } = props;
  if (run === null) return null;
  return (
    <>
      <RunNotice run={run} />
      <footer className="run">
        {run.status === "waiting" && <span>Waiting for you</span>}
        <span data-testid="run-cost">{formatKnownCost(run)}</span>
        {run.recoveryMicros > 0 && <span>of it {formatCost(run.recoveryMicros)} for recovery</span>}
        {run.estimatedMicros > 0 && <span>{toEstimate(run)}</span>}
        <span>{plural(run.tokens, "token")}</span>
        {run.steps > 0 && <span>{plural(run.steps, "step")}</span>}
        {run.endedAt !== null && <span>{formatDuration(run.endedAt - run.createdAt)}</span>}
        <div className="run-actions">
          {(run.steps > 0 || run.endedAt !== null) && (
            <button
              type="button"
              className="text-button run-explain"
              id={`explain-${run.runId}`}
              onClick={() => onExplain(run.runId)}
            >
              Explain
            </button>
          )}
          {onRegenerate !== null && (
            <IconButton
              icon="again"
              label="Answer again"
              className="run-again"
              onClick={onRegenerate}
            />
          )}
        </div>
      </footer>
    </>
  );
}

function toEstimate({ costMicros, estimatedMicros }: Run): string {
  return estimatedMicros === costMicros
    ? "estimated"
    : `of it ${formatCost(estimatedMicros)} estimated`;
}

/** Only what is not the normal course of things. */
export function RunNotice({ run }: { readonly run: Run }): ReactNode {
  const advice = toAdvice(run);
  if (advice === null) return null;
  return (
    <div className={`notice notice-${advice.kind}`} role="status">
      <Icon name="alert" />
      <span>
        <strong>{advice.what}</strong> {advice.next}
      </span>
    </div>
  );
}

export function Thinking(): ReactNode {
  return (
    <p className="thinking" role="status">
      <span className="pulse" aria-hidden="true" /> Working …
    </p>
  );
}
