/** An explanation as it is read, some steps at a time; a run that is at work is explained as far as it has come. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { Explanation } from "#client/types.ts";
import type { Place } from "../api/types.ts";

export interface LoadedExplanation {
  readonly explanation: Explanation | null;
  readonly error: string | null;
  readonly loading: boolean;
  readonly more: () => void;
  readonly reload: () => void;
}

interface Wanted {
  readonly place: Place;
  readonly run: string;
  /** How far the run is, as the page knows it: it is read again when that changes. */
  readonly status: string | null;
}

export function useExplanation(api: Api, { place, run, status }: Wanted): LoadedExplanation {
  const [explanation, setExplanation] = useState<Explanation | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [loading, setLoading] = useState(false);
  const newest = useRef(0);

  const load = useCallback(
    async (before: Explanation | null) => {
      newest.current += 1;
      const own = newest.current;
      setLoading(true);
      try {
        const page = await api.explain(place, run, before?.next ?? 0);
        if (own !== newest.current) return;
        setExplanation(before === null ? page : join(before, page));
        setError(null);
      } catch (reason) {
        if (own === newest.current) setError(toMessage(reason));
      }
      if (own === newest.current) setLoading(false);
    },
    [api, place, run],
  );
  const reload = useCallback(() => void load(null), [load]);
  useEffect(reload, [reload, status]);
  return { explanation, error, loading, more: () => void load(explanation), reload };
}

/** Inputs and definition come with the first page, the end with the last. */
function join(before: Explanation, page: Explanation): Explanation {
  return {
    ...page,
    inputs: before.inputs,
    pin: before.pin,
    steps: [...before.steps, ...page.steps],
    erased: before.erased + page.erased,
  };
}
