/** The signed-in page: conversations on the left, the chosen one beside them. */
import { useCallback, useEffect, useState, type ReactNode } from "react";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { Agent } from "#client/types.ts";
import type { Me } from "../api/types.ts";
import { BudgetsView } from "../budget/budgets-view.tsx";
import { InboxView } from "../inbox/inbox-view.tsx";
import { useInbox } from "../inbox/use-inbox.ts";
import { SpendView } from "../spend/spend-view.tsx";
import { Conversation } from "../thread/conversation.tsx";
import { Start } from "../thread/start.tsx";
import { useRoute } from "./route.ts";
import { Sidebar } from "./sidebar.tsx";
import { useThreads } from "./use-threads.ts";

interface Props {
  readonly api: Api;
  readonly onSignOut: () => void;
}

export function Workspace({ api, onSignOut }: Props): ReactNode {
  const { agents, error, retry } = useAgents(api);
  const route = useRoute();
  const threads = useThreads(api);
  const me = useMe(api);
  const [changes, setChanges] = useState(0);
  const inbox = useInbox(api, `${route.thread ?? ""} ${route.view ?? ""} ${changes}`);
  const [sidebarOpen, setSidebarOpen] = useState(false);
  const reloadThreads = threads.reload;
  const onChanged = useCallback(() => {
    reloadThreads();
    setChanges((count) => count + 1);
  }, [reloadThreads]);
  const closeSidebar = useCallback(() => setSidebarOpen(false), []);
  useEffect(closeSidebar, [route.agent, route.thread, route.view, closeSidebar]);

  if (error !== null) return <Unavailable message={error} onRetry={retry} onSignOut={onSignOut} />;
  if (agents === null) return <main className="centred muted">Loading …</main>;
  const agent = agents.find(({ name }) => name === route.agent) ?? agents[0];
  if (agent === undefined) return <NoAgents />;
  const known = route.agent === null || route.agent === agent.name;
  const place = known && route.thread !== null ? { agent: agent.name, thread: route.thread } : null;
  const openSidebar = (): void => setSidebarOpen(true);
  return (
    <div className="workspace">
      <a
        className="skip-link"
        href={route.view === null ? "#composer" : "#page"}
        onClick={focusContent}
      >
        {route.view === null ? "Skip to the message field" : "Skip to the content"}
      </a>
      <Sidebar
        agent={agent}
        place={place}
        view={route.view}
        waiting={inbox.items?.length ?? 0}
        threads={threads}
        canOperate={me?.scopes.includes("operate") === true}
        open={sidebarOpen}
        onClose={closeSidebar}
        onSignOut={onSignOut}
      />
      {route.view === "spend" && <SpendView api={api} onOpenSidebar={openSidebar} />}
      {route.view === "budgets" && <BudgetsView api={api} onOpenSidebar={openSidebar} />}
      {route.view === "approvals" && (
        <InboxView inbox={inbox} threads={threads.items} onOpenSidebar={openSidebar} />
      )}
      {route.view === null && place === null && (
        <Start
          api={api}
          agents={agents}
          agent={agent}
          unknown={known ? null : route.agent}
          onOpenSidebar={openSidebar}
          onCreated={threads.reload}
        />
      )}
      {place !== null && (
        <Conversation
          key={`${place.agent}/${place.thread}`}
          api={api}
          agent={agent}
          place={place}
          me={me}
          onOpenSidebar={openSidebar}
          onChanged={onChanged}
        />
      )}
    </div>
  );
}

/** The fragment is the route, so the link must not change it. */
function focusContent(event: { preventDefault(): void }): void {
  event.preventDefault();
  const content = document.getElementById("composer") ?? document.getElementById("page");
  if (content instanceof HTMLElement) content.focus();
}

/** Null until it is read, and where it cannot be: then nothing is offered that only some may do. */
function useMe(api: Api): Me | null {
  const [me, setMe] = useState<Me | null>(null);
  useEffect(() => void api.me().then(setMe, () => setMe(null)), [api]);
  return me;
}

function useAgents(api: Api) {
  const [agents, setAgents] = useState<readonly Agent[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const retry = useCallback(() => {
    setError(null);
    api.agents().then(setAgents, (reason: unknown) => setError(toMessage(reason)));
  }, [api]);
  useEffect(retry, [retry]);
  return { agents, error, retry };
}

function Unavailable(props: {
  readonly message: string;
  readonly onRetry: () => void;
  readonly onSignOut: () => void;
}): ReactNode {
  return (
    <main className="centred">
      <div role="alert">
        <h1>Nothing can be loaded</h1>
        <p>{props.message}</p>
        <p className="row">
          <button type="button" className="button button-primary" onClick={props.onRetry}>
            Try again
          </button>
          <button type="button" className="button" onClick={props.onSignOut}>
            Use another key
          </button>
        </p>
      </div>
    </main>
  );
}

function NoAgents(): ReactNode {
  return (
    <main className="centred">
      <div>
        <h1>There is no agent yet</h1>
        <p>
          Describe one in a file of <code>src/agents/</code>, run <code>npm run agents:build</code>,
          and start again.
        </p>
      </div>
    </main>
  );
}
