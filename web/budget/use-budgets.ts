/** Budgets and the leases on them, read when the view opens, and again when asked. */
import { useCallback, useEffect, useState } from "react";
import type { Budget, Lease } from "#client/types.ts";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";

export interface LoadedBudgets {
  /** Null until it has been read. */
  readonly budgets: readonly Budget[] | null;
  readonly leases: readonly Lease[];
  readonly error: string | null;
  readonly reload: () => void;
}

export function useBudgets(api: Api): LoadedBudgets {
  const [budgets, setBudgets] = useState<readonly Budget[] | null>(null);
  const [leases, setLeases] = useState<readonly Lease[]>([]);
  const [error, setError] = useState<string | null>(null);
  const reload = useCallback(() => {
    Promise.all([api.budgets(), api.leases()]).then(
      ([known, open]) => {
        setBudgets(known);
        setLeases(open);
        setError(null);
      },
      (reason: unknown) => setError(toMessage(reason)),
    );
  }, [api]);
  useEffect(reload, [reload]);
  return { budgets, leases, error, reload };
}
