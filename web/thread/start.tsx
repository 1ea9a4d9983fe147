/** A new conversation: choose an agent, say or drop something. The thread is made with the first of either. */
import { useState, type ReactNode } from "react";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { Agent } from "#client/types.ts";
import { IconButton } from "../app/icon.tsx";
import { Notice } from "../app/notice.tsx";
import { goTo, routeTo } from "../app/route.ts";
import { DropZone } from "../files/drop-zone.tsx";
import { Composer } from "./composer.tsx";
import { EmbeddedNotice } from "./embedded-notice.tsx";
import { examplesFor, type Example } from "./examples.ts";
import { leaveFirstMessage } from "./first-message.ts";

interface Props {
  readonly api: Api;
  readonly agents: readonly Agent[];
  readonly agent: Agent;
  /** The name in the address, where no agent here has it. */
  readonly unknown: string | null;
  readonly onOpenSidebar: () => void;
  readonly onCreated: () => void;
}
interface Beginning {
  readonly title: string;
  readonly text: string | null;
  readonly files: readonly { readonly path: string; readonly content: Blob }[];
}

export function Start(props: Props): ReactNode {
  const { api, agents, agent, unknown, onOpenSidebar, onCreated } = props;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);

  async function begin({ title, text, files }: Beginning): Promise<void> {
    setBusy(true);
    setError(null);
    try {
      const thread = await api.createThread(agent.name, toTitle(title));
      const place = { agent: agent.name, thread };
      for (const { path, content } of files) await api.upload(place, path, content);
      if (text !== null) leaveFirstMessage(place, text);
      goTo(agent.name, thread);
      onCreated();
    } catch (reason) {
      setError(toMessage(reason));
      setBusy(false);
    }
  }
  const upload = (chosen: readonly File[]): void => {
    const files = chosen.map((file) => ({ path: file.name, content: file }));
    void begin({ title: files.map(({ path }) => path).join(", "), text: null, files });
  };
  const tryExample = ({ label, text, file }: Example): void => {
    const files =
      file === undefined ? [] : [{ path: file.path, content: new Blob([file.content]) }];
    void begin({ title: label, text, files });
  };
  return (
    <DropZone onFiles={upload}>
      <main className="conversation">
        <header className="bar">
          <IconButton
            icon="menu"
            label="Conversations"
            className="only-narrow"
            onClick={onOpenSidebar}
          />
          <h1 className="bar-title">New conversation</h1>
        </header>
        <div className="start">
          <div className="start-inner">
            {unknown !== null && (
              <Notice
                kind="warn"
                text={`This server has no agent “${unknown}”. Choose one of these.`}
              />
            )}
            <h2>Choose an agent</h2>
            <AgentPicker agents={agents} chosen={agent.name} />
            <EmbeddedNotice agent={agent} />
            <h3>Try one of these</h3>
            <ul className="examples">
              {examplesFor(agent).map((example) => (
                <li key={example.label}>
                  <button
                    type="button"
                    className="example"
                    disabled={busy}
                    onClick={() => tryExample(example)}
                  >
                    {example.label}
                    {example.file !== undefined && (
                      <span className="example-file">with {example.file.path}</span>
                    )}
                  </button>
                </li>
              ))}
            </ul>
          </div>
        </div>
        <Composer
          placeholder={`Message ${agent.name}`}
          hint="Drop files anywhere."
          state={busy ? "sending" : "idle"}
          error={error}
          onSend={(text) => void begin({ title: text, text, files: [] })}
          onFiles={upload}
        />
      </main>
    </DropZone>
  );
}

function AgentPicker(props: {
  readonly agents: readonly Agent[];
  readonly chosen: string;
}): ReactNode {
  return (
    <ul className="agents" aria-label="Agents">
      {props.agents.map(({ name, description }) => (
        <li key={name}>
          <a
            className="agent-card"
            href={routeTo(name)}
            aria-current={name === props.chosen ? "true" : undefined}
          >
            <strong>{name}</strong>
            <span>{description}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function toTitle(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, " ");
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`;
}
