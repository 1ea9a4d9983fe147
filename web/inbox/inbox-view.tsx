/** Everything that waits for a decision. Each entry leads to its conversation, where what would run is shown (W8). */
import type { ReactNode } from "react";
import type { InboxItem, ThreadItem } from "#client/types.ts";
import { formatAgo, formatTime } from "../app/format.ts";
import { Icon } from "../app/icon.tsx";
import { Notice } from "../app/notice.tsx";
import { PageView } from "../app/page-view.tsx";
import { routeTo } from "../app/route.ts";
import type { Inbox } from "./use-inbox.ts";

interface Props {
  readonly inbox: Inbox;
  /** Those that are listed: entries of one agent are told apart by their titles. */
  readonly threads: readonly ThreadItem[] | null;
  readonly onOpenSidebar: () => void;
}

export function InboxView({ inbox, threads, onOpenSidebar }: Props): ReactNode {
  const { items, hasMore, error, reload } = inbox;
  return (
    <PageView title="Waiting for you" onOpenSidebar={onOpenSidebar}>
      {error !== null && (
        <Notice kind="error" text={error}>
          <button type="button" className="text-button" onClick={reload}>
            Try again
          </button>
        </Notice>
      )}
      {items === null && error === null && <p className="empty">Loading …</p>}
      {items?.length === 0 && (
        <p className="empty">
          Nothing waits. Calls that need an approval and questions of agents are listed here, from
          all conversations.
        </p>
      )}
      <ul className="inbox">
        {items?.map((item) => (
          <li key={item.approval}>
            <Entry item={item} title={toTitle(item, threads)} />
          </li>
        ))}
      </ul>
      {hasMore && <p className="small muted">There are more; decide some of these first.</p>}
    </PageView>
  );
}

function toTitle(item: InboxItem, threads: Props["threads"]): string | null {
  const known = threads?.find(
    ({ agent, thread }) => agent === item.agent && thread === item.thread,
  );
  return known?.title ?? null;
}

function Entry(props: { readonly item: InboxItem; readonly title: string | null }): ReactNode {
  const { item, title } = props;
  const { agent, thread, kind, tool, requestedAt, expiresAt } = item;
  return (
    <a className="inbox-entry" href={routeTo(agent, thread)}>
      <Icon name="person" />
      <span className="grow">
        <span className="inbox-what">
          {kind === "question" ? (
            <>{agent} asks a question</>
          ) : kind === "budget" ? (
            <>
              {agent} asks for more of the budget <code>{tool}</code>
            </>
          ) : (
            <>
              {agent} wants to run <code>{tool}</code>
            </>
          )}
        </span>
        {title !== null && <span className="inbox-title">{title}</span>}
        <span className="thread-meta">
          {formatAgo(requestedAt)} · open until {formatTime(expiresAt)}
        </span>
      </span>
      <Icon name="chevron" />
    </a>
  );
}
