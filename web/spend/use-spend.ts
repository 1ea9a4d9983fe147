/** Sums of spend, read again whenever what is asked for changes. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Api, SpendRequest } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { SpendItem } from "#client/types.ts";

interface Answer extends SpendRequest {
  readonly items: readonly SpendItem[];
  readonly hasMore: boolean;
}

export interface LoadedSpend {
  /** Null until it has been read. */
  readonly items: readonly SpendItem[] | null;
  readonly hasMore: boolean;
  readonly error: string | null;
  readonly reload: () => void;
}

export function useSpend(api: Api, request: SpendRequest): LoadedSpend {
  const { groupBy, from } = request;
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<string | null>(null);
  const newest = useRef(0);

  const load = useCallback(async () => {
    newest.current += 1;
    const own = newest.current;
    try {
      const page = await api.spend({ groupBy, from });
      if (own !== newest.current) return;
      setAnswer({ groupBy, from, items: page.items, hasMore: page.next !== null });
      setError(null);
    } catch (reason) {
      if (own === newest.current) setError(toMessage(reason));
    }
  }, [api, groupBy, from]);
  const reload = useCallback(() => {
    setAnswer(null);
    void load();
  }, [load]);
  useEffect(reload, [reload]);
  // Rows of the question before must not stand under the heading of this one, not even until the effect has run.
  const isCurrent = answer?.groupBy === groupBy && answer.from === from;
  return {
    items: isCurrent ? answer.items : null,
    hasMore: isCurrent && answer.hasMore,
    error,
    reload,
  };
}
