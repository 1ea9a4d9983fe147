/** Title, cost, branches, files, and clearing. */
import type { ReactNode } from "react";
import type { ThreadData } from "../api/api.ts";
import type { Agent } from "#client/types.ts";
import { formatKnownCost, plural, sumCosts } from "../app/format.ts";
import { Icon, IconButton } from "../app/icon.tsx";
import { BranchPicker } from "./branch-picker.tsx";
import { isEmbedded } from "./examples.ts";

interface Props {
  readonly agent: Agent;
  readonly data: ThreadData | null;
  /** Branches change only between runs. */
  readonly busy: boolean;
  /** Which panel is open beside the messages. */
  readonly panel: "files" | "record" | "schedules" | "explain" | null;
  readonly onOpenSidebar: () => void;
  readonly onToggle: (panel: "files" | "record" | "schedules") => void;
  readonly onClear: () => void;
  readonly onSelectBranch: (branch: string) => void;
}

export function ThreadHeader(props: Props): ReactNode {
  const { agent, data, busy, panel } = props;
  const title = data === null ? "Conversation" : (data.thread.title ?? "Untitled");
  const files = data?.files.length ?? 0;
  return (
    <header className="bar">
      <IconButton
        icon="menu"
        label="Conversations"
        className="only-narrow"
        onClick={props.onOpenSidebar}
      />
      <div className="bar-title">
        <h1 title={title}>{title}</h1>
        <p className="bar-meta">
          {agent.name}
          <span className="bar-model">
            {" "}
            · {isEmbedded(agent) ? "built-in rules, not an LLM" : agent.model}
          </span>
          {data !== null && <ThreadCost data={data} />}
        </p>
      </div>
      {data !== null && data.branches.length > 1 && (
        <BranchPicker branches={data.branches} disabled={busy} onSelect={props.onSelectBranch} />
      )}
      <button
        type="button"
        className="button button-small button-plain"
        aria-label="Clear the conversation"
        title="Begin with an empty memory of what was said. Files stay, and the old conversation stays as a branch"
        disabled={busy || (data?.runs.length ?? 0) === 0}
        onClick={props.onClear}
      >
        <Icon name="clear" />
        <span className="wide-word">Clear</span>
      </button>
      <button
        type="button"
        className={`button button-small ${panel === "schedules" ? "is-on" : ""}`}
        aria-expanded={panel === "schedules"}
        title="What it does by itself"
        onClick={() => props.onToggle("schedules")}
      >
        <Icon name="clock" />
        <span className="wide-word">Schedules</span>
      </button>
      <button
        type="button"
        className={`button button-small ${panel === "record" ? "is-on" : ""}`}
        aria-expanded={panel === "record"}
        title="What it cost, and whether its record holds"
        onClick={() => props.onToggle("record")}
      >
        <Icon name="record" />
        <span className="wide-word">Record</span>
      </button>
      <button
        type="button"
        className={`button button-small ${panel === "files" ? "is-on" : ""}`}
        aria-expanded={panel === "files"}
        onClick={() => props.onToggle("files")}
      >
        <Icon name="file" />
        <span className="wide-word">Files</span>
        {files > 0 && <span className="count">{files}</span>}
      </button>
    </header>
  );
}

function ThreadCost({ data }: { readonly data: ThreadData }): ReactNode {
  if (data.runs.length === 0) return null;
  const cost = sumCosts(data.runs);
  const tokens = data.runs.reduce((sum, run) => sum + run.tokens, 0);
  return (
    <span data-testid="thread-cost">
      {" "}
      · <span className="bar-model">{plural(data.runs.length, "run")}, </span>
      {formatKnownCost(cost)}
      <span className="bar-model">, {plural(tokens, "token")}</span>
    </span>
  );
}
