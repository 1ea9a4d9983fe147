/** Where the page is: `#/agent` for a new conversation, `#/agent/thread` for one that exists. A reload stays there. */
import { useSyncExternalStore } from "react";

export interface Route {
  readonly agent: string | null;
  readonly thread: string | null;
}

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  const [, agent, thread] = /^#\/([^/]+)(?:\/([^/]+))?$/.exec(hash) ?? [];
  return { agent: agent ?? null, thread: thread ?? null };
}

export function routeTo(agent: string, thread?: string): string {
  return thread === undefined ? `#/${agent}` : `#/${agent}/${thread}`;
}

export function goTo(agent: string, thread?: string): void {
  location.hash = routeTo(agent, thread);
}
