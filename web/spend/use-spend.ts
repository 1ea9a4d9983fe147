/** Sums of spend, read again whenever what is asked for changes. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Api, SpendRequest } from "../api/api.ts";
import { toMessage } from "../api/http.ts";
import type { SpendItem } from "../api/types.ts";

export interface LoadedSpend {
  /** Null until it has been read. */
  readonly items: readonly SpendItem[] | null;
  readonly hasMore: boolean;
  readonly error: string | null;
  readonly reload: () => void;
}

export function useSpend(api: Api, request: SpendRequest): LoadedSpend {
  const { groupBy, from } = request;
  const [items, setItems] = useState<readonly SpendItem[] | null>(null);
  const [hasMore, setHasMore] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const newest = useRef(0);

  const load = useCallback(async () => {
    newest.current += 1;
    const own = newest.current;
    try {
      const page = await api.spend({ groupBy, from });
      if (own !== newest.current) return;
      setItems(page.items);
      setHasMore(page.next !== null);
      setError(null);
    } catch (reason) {
      if (own === newest.current) setError(toMessage(reason));
    }
  }, [api, groupBy, from]);
  const reload = useCallback(() => {
    setItems(null);
    void load();
  }, [load]);
  useEffect(reload, [reload]);
  return { items, hasMore, error, reload };
}
