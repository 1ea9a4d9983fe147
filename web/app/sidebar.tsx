/** Conversations, and what concerns the page as a whole. On a narrow screen it lies over the page and closes itself. */
import { useEffect, useRef, type ReactNode } from "react";
import type { Agent, ThreadItem } from "#client/types.ts";
import type { Place } from "../api/types.ts";
import { formatAgo } from "./format.ts";
import { Icon, IconButton, Logo, type IconName } from "./icon.tsx";
import { routeTo, type View } from "./route.ts";
import { ThemePicker } from "./theme-picker.tsx";
import type { Threads } from "./use-threads.ts";

interface Props {
  readonly agent: Agent;
  readonly place: Place | null;
  readonly view: View | null;
  /** How much waits for a decision. */
  readonly waiting: number;
  readonly threads: Threads;
  /** What only operators may see is not offered to others. */
  readonly canOperate: boolean;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onSignOut: () => void;
}

export function Sidebar(props: Props): ReactNode {
  const { agent, place, view, waiting, threads, canOperate, open, onClose, onSignOut } = props;
  const first = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (open) first.current?.focus();
  }, [open]);
  return (
    <>
      {open && <div className="backdrop" onClick={onClose} />}
      <nav
        className={`sidebar ${open ? "is-open" : ""}`}
        aria-label="Conversations"
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
        }}
      >
        <div className="sidebar-head">
          <span className="brand">
            <Logo size={24} /> Holdfast
          </span>
          <IconButton
            icon="close"
            label="Close the list"
            className="only-narrow"
            onClick={onClose}
          />
        </div>
        <a ref={first} className="button button-wide" href={routeTo(agent.name)} onClick={onClose}>
          <Icon name="plus" /> New conversation
        </a>
        <ul className="views">
          <ViewLink view="approvals" current={view} icon="person" onClick={onClose}>
            Waiting for you
            {waiting > 0 && <span className="count count-strong">{waiting}</span>}
          </ViewLink>
          <ViewLink view="spend" current={view} icon="coins" onClick={onClose}>
            Spend
          </ViewLink>
          {canOperate && (
            <ViewLink view="budgets" current={view} icon="wallet" onClick={onClose}>
              Budgets
            </ViewLink>
          )}
        </ul>
        <ThreadList place={place} threads={threads} />
        <div className="sidebar-foot">
          <ThemePicker />
          <a className="quiet-link" href="/v1/reference">
            API reference
          </a>
          <IconButton icon="leave" label="Sign out" onClick={onSignOut} />
        </div>
      </nav>
    </>
  );
}

function ViewLink(props: {
  readonly view: View;
  readonly current: View | null;
  readonly icon: IconName;
  readonly onClick: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <li>
      <a
        className="view-link"
        href={`#${props.view}`}
        aria-current={props.view === props.current ? "page" : undefined}
        onClick={props.onClick}
      >
        <Icon name={props.icon} />
        {props.children}
      </a>
    </li>
  );
}

function ThreadList({ place, threads }: Pick<Props, "place" | "threads">): ReactNode {
  const { items, error, hasMore, reload, more } = threads;
  return (
    <div className="thread-list">
      {error !== null && (
        <p className="muted small">
          {error}{" "}
          <button type="button" className="text-button" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {items?.length === 0 && (
        <p className="muted small">Your conversations will be listed here.</p>
      )}
      <ul>
        {items?.map((item) => (
          <ThreadLink
            key={`${item.agent}/${item.thread}`}
            item={item}
            current={place?.agent === item.agent && place.thread === item.thread}
          />
        ))}
      </ul>
      {hasMore && (
        <button type="button" className="text-button" onClick={more}>
          Show older ones
        </button>
      )}
    </div>
  );
}

function ThreadLink(props: { readonly item: ThreadItem; readonly current: boolean }): ReactNode {
  const { item, current } = props;
  return (
    <li>
      <a
        className="thread-link"
        href={routeTo(item.agent, item.thread)}
        aria-current={current ? "page" : undefined}
        title={item.title ?? undefined}
      >
        <span className="thread-title">{item.title ?? "Untitled"}</span>
        <span className="thread-meta">
          {item.agent} · {formatAgo(item.updatedAt)}
        </span>
      </a>
    </li>
  );
}
