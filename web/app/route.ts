/**
 * Where the page is: `#/agent` for a new conversation, `#/agent/thread` for one that exists; without the slash, so that no
 * agent's name is in the way, what is of all conversations. A reload stays there.
 */
import { useSyncExternalStore } from "react";

export interface Route {
  readonly agent: string | null;
  readonly thread: string | null;
  readonly view: View | null;
}
export type View = "spend" | "budgets" | "approvals";
const VIEWS: readonly View[] = ["spend", "budgets", "approvals"];

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  const [, agent, thread] = /^#\/([^/]+)(?:\/([^/]+))?$/.exec(hash) ?? [];
  const view = VIEWS.find((name) => hash === `#${name}`) ?? null;
  return { agent: agent ?? null, thread: thread ?? null, view };
}

export function routeTo(agent: string, thread?: string): string {
  return thread === undefined ? `#/${agent}` : `#/${agent}/${thread}`;
}

export function goTo(agent: string, thread?: string): void {
  location.hash = routeTo(agent, thread);
}
