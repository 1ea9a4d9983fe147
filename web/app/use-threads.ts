/** The caller's conversations, newest first, page by page. */
import { useCallback, useEffect, useMemo, useState } from "react";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { ThreadItem } from "#client/types.ts";

export interface Threads {
  /** Null until first loaded. */
  readonly items: readonly ThreadItem[] | null;
  readonly error: string | null;
  readonly hasMore: boolean;
  readonly reload: () => void;
  readonly more: () => void;
}

export function useThreads(api: Api): Threads {
  const [items, setItems] = useState<readonly ThreadItem[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);

  const load = useCallback(
    (after: string | null) => {
      const loaded = api.threads(after).then((page) => {
        setItems((known) => (after === null ? page.items : [...(known ?? []), ...page.items]));
        setNext(page.next);
        setError(null);
      });
      loaded.catch((reason: unknown) => setError(toMessage(reason)));
    },
    [api],
  );
  const reload = useCallback(() => load(null), [load]);
  useEffect(reload, [reload]);
  return useMemo(() => {
    const more = (): void => {
      if (next !== null) load(next);
    };
    return { items, error, hasMore: next !== null, reload, more };
  }, [items, error, next, load, reload]);
}
