/**
 * What a conversation shows beside its messages: runs with their cost, approvals, files, branches. Read again whenever
 * `stamp` changes, which stands for what the socket has told. A message changes it many times within a moment.
 */
import { useEffect, useMemo, useState } from "react";
import type { Api, ThreadData } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { Place } from "../api/types.ts";
import { oneAtATime } from "../app/one-at-a-time.ts";

export interface LoadedThread {
  readonly data: ThreadData | null;
  readonly error: string | null;
  readonly refresh: () => Promise<void>;
}

export function useThreadData(api: Api, place: Place, stamp: string): LoadedThread {
  const [data, setData] = useState<ThreadData | null>(null);
  const [error, setError] = useState<string | null>(null);
  const refresh = useMemo(
    () =>
      oneAtATime(async () => {
        try {
          setData(await api.threadData(place));
          setError(null);
        } catch (reason) {
          setError(toMessage(reason));
        }
      }),
    [api, place],
  );

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
