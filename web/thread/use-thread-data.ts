/**
 * What a conversation shows beside its messages: runs with their cost, approvals, files, branches. Read again whenever
 * `stamp` changes, which stands for what the socket has told; a newer reading always wins over an older one.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Api, ThreadData } from "../api/api.ts";
import { toMessage } from "../api/http.ts";
import type { Place } from "../api/types.ts";

export interface LoadedThread {
  readonly data: ThreadData | null;
  readonly error: string | null;
  readonly refresh: () => Promise<void>;
}

export function useThreadData(api: Api, place: Place, stamp: string): LoadedThread {
  const [data, setData] = useState<ThreadData | null>(null);
  const [error, setError] = useState<string | null>(null);
  const newest = useRef(0);

  const refresh = useCallback(async () => {
    newest.current += 1;
    const own = newest.current;
    try {
      const loaded = await api.threadData(place);
      if (own !== newest.current) return;
      setData(loaded);
      setError(null);
    } catch (reason) {
      if (own === newest.current) setError(toMessage(reason));
    }
  }, [api, place]);

  useEffect(() => void refresh(), [refresh, stamp]);
  useEffect(() => {
    const whenSeen = (): void => {
      if (document.visibilityState === "visible") void refresh();
    };
    document.addEventListener("visibilitychange", whenSeen);
    return () => document.removeEventListener("visibilitychange", whenSeen);
  }, [refresh]);
  return { data, error, refresh };
}
