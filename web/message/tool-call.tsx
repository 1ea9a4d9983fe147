/** One call: its name and state in a line, arguments and result when opened; open by itself while it waits for a person. */
import type { DynamicToolUIPart, ToolUIPart } from "ai";
import type { ReactNode } from "react";
import type { Approval, Decision } from "#client/types.ts";
import { Icon } from "../app/icon.tsx";
import { ApprovalCard } from "./approval-card.tsx";
import { CodeCall } from "./code-call.tsx";
import { DecidedNote } from "./decided-note.tsx";
import { Fields, JsonView } from "./json-view.tsx";
import { QuestionForm } from "./question-form.tsx";

type Part = ToolUIPart | DynamicToolUIPart;
interface Props {
  readonly name: string;
  readonly part: Part;
  readonly approval: Approval | null;
  /** The run is over: a call without a result will not get one. */
  readonly ended: boolean;
  readonly onDecide: (approvalId: string, decision: Decision) => Promise<boolean>;
}

export function ToolCall({ name, part, approval, ended, onDecide }: Props): ReactNode {
  // The socket may know the outcome before the list of approvals has been read again.
  const isSettled = part.state.startsWith("output-");
  if (approval?.status === "open" && !ended && !isSettled) {
    const decide = (decision: Decision): Promise<boolean> =>
      onDecide(approval.approvalId, decision);
    return approval.kind === "question" ? (
      <QuestionForm approval={approval} onDecide={decide} />
    ) : (
      <ApprovalCard approval={approval} tool={name} onDecide={decide} />
    );
  }
  const state = toState(part, approval, ended);
  return (
    <details className={`call call-${state.kind}`}>
      <summary>
        <Icon name="chevron" />
        <span className="call-name">{name}</span>
        <span className="call-brief">{toBrief(part.input)}</span>
        <span className="call-state">
          {state.kind === "running" ? (
            <span className="pulse" aria-hidden="true" />
          ) : (
            <Icon name={state.icon} />
          )}
          {state.label}
        </span>
      </summary>
      <div className="call-body">
        {approval !== null && <DecidedNote approval={approval} />}
        {name === "run_code" ? <CodeCall part={part} /> : <PlainCall part={part} />}
      </div>
    </details>
  );
}

function PlainCall({ part }: { readonly part: Part }): ReactNode {
  return (
    <>
      <p className="call-label">Arguments</p>
      <Fields value={part.input ?? {}} />
      {part.state === "output-available" && (
        <>
          <p className="call-label">Result</p>
          <JsonView value={part.output} />
        </>
      )}
      {part.state === "output-error" && (
        <>
          <p className="call-label">Error</p>
          <JsonView value={part.errorText} />
        </>
      )}
    </>
  );
}

interface CallState {
  readonly kind: "running" | "done" | "failed" | "denied";
  readonly icon: "check" | "alert" | "close";
  readonly label: string;
}

/** Why a call that a person was asked for did not happen is said in the person's words. */
const UNDONE: { readonly [decision: string]: string } = {
  denied: "denied",
  expired: "expired",
  cancelled: "not done",
  superseded: "superseded",
};

function toState({ state }: Part, approval: Approval | null, ended: boolean): CallState {
  const undone = UNDONE[approval?.decision ?? ""];
  if (undone !== undefined) return { kind: "denied", icon: "close", label: undone };
  switch (state) {
    case "output-available":
      return { kind: "done", icon: "check", label: "done" };
    case "output-error":
      return { kind: "failed", icon: "alert", label: "failed" };
    case "output-denied":
      return { kind: "denied", icon: "close", label: "denied" };
    default:
      return ended
        ? { kind: "denied", icon: "close", label: "not done" }
        : { kind: "running", icon: "check", label: "running" };
  }
}

/** The shortest argument that says what the call is about. */
function toBrief(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const texts = Object.values(input).filter(
    (value) => typeof value === "string" || typeof value === "number",
  );
  const line = String(texts[0] ?? "").split("\n")[0] ?? "";
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
