/** The answer of one run: text, reasoning and calls in the order they came, and under it what the run cost. */
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import type { ReactNode } from "react";
import type { Agent, Approval, Decision, Run } from "#client/types.ts";
import { Markdown } from "./markdown.tsx";
import { RunFooter } from "./run-footer.tsx";
import { ToolCall } from "./tool-call.tsx";

interface Props {
  readonly message: UIMessage;
  /** Null until it has been read. */
  readonly run: Run | null;
  readonly agent: Agent;
  readonly approvals: ReadonlyMap<string, Approval>;
  readonly streaming: boolean;
  readonly canRegenerate: boolean;
  readonly onRegenerate: () => void;
  readonly onExplain: (runId: string) => void;
  readonly onDecide: (approvalId: string, decision: Decision) => Promise<boolean>;
}

export function Answer(props: Props): ReactNode {
  const { message, run, agent, approvals, streaming, onDecide } = props;
  return (
    <article className="answer" aria-label={agent.name} aria-busy={streaming}>
      {message.parts.map((part, index) => {
        // Parts have no ids, are never reordered, and only the last one grows.
        if (part.type === "text") return <Markdown key={index} text={part.text} />;
        if (part.type === "reasoning") return <Reasoning key={index} text={part.text} />;
        if (!isToolUIPart(part)) return null;
        return (
          <ToolCall
            key={part.toolCallId}
            name={getToolName(part)}
            part={part}
            approval={approvals.get(part.toolCallId) ?? null}
            ended={run !== null && run.endedAt !== null}
            onDecide={onDecide}
          />
        );
      })}
      {streaming && <span className="caret" aria-hidden="true" />}
      {!streaming && (
        <RunFooter
          run={run}
          onRegenerate={props.canRegenerate ? props.onRegenerate : null}
          onExplain={props.onExplain}
        />
      )}
    </article>
  );
}

function Reasoning({ text }: { readonly text: string }): ReactNode {
  return (
    <details className="reasoning">
      <summary>Reasoning</summary>
      <Markdown text={text} />
    </details>
  );
}
