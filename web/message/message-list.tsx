/** What was said, oldest first. Follows the newest text while the reader is at the end, and leaves alone who scrolled up. */
import type { UIMessage } from "ai";
import { useEffect, useLayoutEffect, useMemo, useRef, type ReactNode } from "react";
import type { ThreadData } from "../api/api.ts";
import type { Agent, Approval, Decision } from "#client/types.ts";
import type { Chat } from "../thread/use-chat.ts";
import { Answer } from "./answer.tsx";
import { RunNotice, Thinking } from "./run-footer.tsx";
import { UserMessage } from "./user-message.tsx";

interface Props {
  readonly chat: Chat;
  readonly data: ThreadData | null;
  readonly agent: Agent;
  readonly live: boolean;
  /** The message that is being edited. */
  readonly editing: string | null;
  readonly onEdit: (messageId: string | null) => void;
  readonly onExplain: (runId: string) => void;
  readonly onDecide: (approvalId: string, decision: Decision) => Promise<boolean>;
}

/** Nearer to the end than this counts as being there. */
const AT_END_PX = 80;

export function MessageList(props: Props): ReactNode {
  const { chat, data, agent, live, editing, onEdit, onExplain, onDecide } = props;
  const { messages } = chat;
  const { list, onScroll } = useFollowing(messages);
  const approvals = useMemo(() => byCall(data?.approvals ?? []), [data]);
  const runs = useMemo(() => new Map(data?.runs.map((run) => [run.runId, run])), [data]);
  const last = messages.at(-1);
  const lastRun = data?.runs.at(-1);
  const isUnanswered = lastRun !== undefined && !messages.some(({ id }) => id === lastRun.runId);
  return (
    <div
      className="messages"
      ref={list}
      onScroll={onScroll}
      tabIndex={0}
      role="region"
      aria-label="Messages"
    >
      <div className="messages-inner">
        {messages.length === 0 && chat.connection === "connecting" && (
          <p className="empty">Loading …</p>
        )}
        {messages.length === 0 && chat.connection === "open" && !live && (
          <Empty agent={agent} files={data?.files.length ?? 0} />
        )}
        {messages.map((message) =>
          message.role === "user" ? (
            <UserMessage
              key={message.id}
              text={toText(message)}
              editing={editing === message.id}
              canEdit={!live}
              onEdit={() => onEdit(message.id)}
              onCancel={() => onEdit(null)}
              onSave={(text) => {
                onEdit(null);
                chat.edit(message.id, text);
              }}
            />
          ) : (
            <Answer
              key={message.id}
              message={message}
              run={runs.get(message.id) ?? null}
              agent={agent}
              approvals={approvals}
              streaming={chat.busy && message === last}
              canRegenerate={!live && message === last}
              onRegenerate={() => chat.regenerate(message.id)}
              onExplain={onExplain}
              onDecide={onDecide}
            />
          ),
        )}
        {chat.busy && last?.role === "user" && <Thinking />}
        {!live && isUnanswered && <RunNotice run={lastRun} />}
      </div>
      <p className="visually-hidden" aria-live="polite">
        {toStatus({
          name: agent.name,
          busy: chat.busy,
          live,
          answered: last?.role === "assistant",
        })}
      </p>
    </div>
  );
}

function Empty({ agent, files }: { readonly agent: Agent; readonly files: number }): ReactNode {
  return (
    <p className="empty">
      {files > 0
        ? `The files are here. Ask ${agent.name} about them.`
        : `Nothing is in the memory of ${agent.name} for this conversation. Write a message to begin.`}
    </p>
  );
}

/** Said once for each change: word by word nobody could listen to it. */
function toStatus(known: {
  readonly name: string;
  readonly busy: boolean;
  readonly live: boolean;
  readonly answered: boolean;
}): string {
  if (known.busy) return `${known.name} is answering.`;
  if (known.live) return `${known.name} waits for you.`;
  return known.answered ? `${known.name} has answered.` : "";
}

function useFollowing(messages: readonly UIMessage[]) {
  const list = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const count = messages.length;
  const onScroll = (): void => {
    const element = list.current;
    if (element === null) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < AT_END_PX;
  };
  // Who sends a message wants to see it.
  useEffect(() => void (atEnd.current = true), [count]);
  useLayoutEffect(() => {
    const element = list.current;
    if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight;
  });
  return { list, onScroll };
}

function byCall(approvals: readonly Approval[]): ReadonlyMap<string, Approval> {
  return new Map(approvals.map((approval) => [approval.callId, approval]));
}

function toText(message: UIMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
