/** What the model saw, exactly; and whether compiling it again gives what was recorded. */
import type { ReactNode } from "react";
import type { ExplainedStep } from "../api/types.ts";
import { plural } from "../app/format.ts";
import { Icon } from "../app/icon.tsx";
import { JsonView } from "../message/json-view.tsx";

type Attempt = ExplainedStep["attempts"][number];
type Prompt = NonNullable<Attempt["prompt"]>;
type Message = Prompt["request"]["messages"][number];

export function PromptMark({ prompts }: { readonly prompts: readonly Prompt[] }): ReactNode {
  const differing = prompts.filter(({ intact }) => !intact).length;
  const several = prompts.length > 1;
  if (differing === 0) {
    return (
      <p className="mark mark-good">
        <Icon name="check" />
        {several ? `All ${prompts.length} prompts rebuilt` : "Rebuilt"} from the log, and identical
        to what was sent.
      </p>
    );
  }
  return (
    <p className="mark mark-bad">
      <Icon name="alert" />
      {several ? `${differing} of ${prompts.length} prompts` : "The prompt"} rebuilt from the log,
      and not what was recorded. Verify the record to see whether it was changed.
    </p>
  );
}

const MISSING: { readonly [reason: string]: string } = {
  compiler_unknown: "It was compiled by a version that this one does not know.",
  references_broken: "Messages that it was made of were erased or are no longer kept.",
  pin_missing: "The agent's definition is no longer kept.",
  not_a_request: "Its request was erased.",
};

export function PromptView({ attempt }: { readonly attempt: Attempt }): ReactNode {
  const { prompt, promptMissing } = attempt;
  if (prompt === null) {
    const why = MISSING[promptMissing ?? ""] ?? "";
    return <p className="erased">The prompt cannot be shown. {why}</p>;
  }
  const { instructions, messages, tools, settings, output } = prompt.request;
  return (
    <details className="fold">
      <summary>
        The prompt: {plural(messages.length, "message")}, {plural(tools.length, "tool")}
      </summary>
      <PromptMark prompts={[prompt]} />
      <p className="call-label">Instructions</p>
      <JsonView value={instructions} />
      {messages.map((message, index) => (
        // Messages of a prompt have no ids and never change.
        <PromptMessage key={index} message={message} />
      ))}
      {tools.length > 0 && (
        <details className="fold">
          <summary>Tools: {tools.map(({ name }) => name).join(", ")}</summary>
          <JsonView value={tools} />
        </details>
      )}
      <p className="call-label">Settings</p>
      <JsonView value={output === null ? settings : { ...settings, output }} />
      <p className="evidence">
        SHA-256 of the prompt <code title={prompt.digest}>{prompt.digest}</code>
      </p>
    </details>
  );
}

const ROLES = { user: "User", assistant: "Agent", tool: "Tool" } as const;

function PromptMessage({ message }: { readonly message: Message }): ReactNode {
  return (
    <>
      <p className="call-label">{ROLES[message.role]}</p>
      {message.content.map((part, index) => (
        <JsonView key={index} value={toShown(part)} />
      ))}
    </>
  );
}

function toShown(part: Message["content"][number]): unknown {
  switch (part.type) {
    case "text":
      return part.text;
    case "result":
      return `${part.name} ${part.isError ? "failed" : "returned"}:\n${part.output}`;
    case "call":
      return `${part.name}(${JSON.stringify(part.args, null, 2)})`;
    default:
      return part;
  }
}
