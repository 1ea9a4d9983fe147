/** The schedules of one conversation, read again whenever `stamp` changes: a firing moves the next one. */
import { useCallback, useEffect, useState } from "react";
import type { Schedule } from "#client/types.ts";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { Place } from "../api/types.ts";

export interface Schedules {
  /** Null until they have been read. */
  readonly items: readonly Schedule[] | null;
  readonly error: string | null;
  readonly reload: () => Promise<void>;
  /** What is asked of one of them; then all are read again. */
  readonly ask: (work: Promise<unknown>) => Promise<void>;
}

export function useSchedules(api: Api, place: Place, stamp: string): Schedules {
  const [items, setItems] = useState<readonly Schedule[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const reload = useCallback(async () => {
    try {
      setItems(await api.schedules(place));
      setError(null);
    } catch (reason) {
      setError(toMessage(reason));
    }
  }, [api, place]);
  const ask = useCallback(
    async (work: Promise<unknown>) => {
      const failure = await work.then(() => null, toMessage);
      await reload();
      if (failure !== null) setError(failure);
    },
    [reload],
  );
  useEffect(() => void reload(), [reload, stamp]);
  return { items, error, reload, ask };
}
