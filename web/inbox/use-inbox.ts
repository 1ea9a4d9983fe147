/**
 * What waits for a person in all conversations. Read again from time to time while the page is seen, and whenever `stamp`
 * changes; the list may lag by seconds (A9).
 */
import { useCallback, useEffect, useState } from "react";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { InboxItem } from "#client/types.ts";

const EVERY_MS = 10_000;
/** The list follows what was decided a moment ago. */
const SETTLED_MS = 1_500;

export interface Inbox {
  /** Null until it has been read. */
  readonly items: readonly InboxItem[] | null;
  /** There are more than are listed. */
  readonly hasMore: boolean;
  readonly error: string | null;
  readonly reload: () => void;
}

export function useInbox(api: Api, stamp: string): Inbox {
  const [items, setItems] = useState<readonly InboxItem[] | null>(null);
  const [hasMore, setHasMore] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const reload = useCallback(() => {
    const loaded = api.inbox().then((page) => {
      setItems(page.items);
      setHasMore(page.next !== null);
      setError(null);
    });
    loaded.catch((reason: unknown) => setError(toMessage(reason)));
  }, [api]);
  useEffect(() => {
    reload();
    const timer = setTimeout(reload, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [reload, stamp]);
  useEffect(() => {
    const whenSeen = (): void => {
      if (document.visibilityState === "visible") reload();
    };
    const timer = setInterval(whenSeen, EVERY_MS);
    document.addEventListener("visibilitychange", whenSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", whenSeen);
    };
  }, [reload]);
  return { items, hasMore, error, reload };
}
