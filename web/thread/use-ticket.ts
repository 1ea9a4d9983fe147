/**
 * One ticket for each socket (P22). A ticket opens one socket and is then worth nothing, so that a lost connection is
 * opened again with another one. Asks with growing pauses, and at once when the computer is online again.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Api } from "../api/api.ts";
import { HoldfastError } from "#client/errors.ts";
import type { Place } from "../api/types.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;

export interface Tickets {
  readonly ticket: string | null;
  /** Why no further attempt is made, or null. */
  readonly refusal: string | null;
  /** How often it has failed since it last worked. */
  readonly failures: number;
  readonly renew: () => void;
  readonly opened: () => void;
}

export function useTicket(api: Api, place: Place): Tickets {
  const [ticket, setTicket] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [failures, setFailures] = useState(0);
  const [wanted, setWanted] = useState(0);
  const failed = useRef(0);

  useEffect(() => {
    const abort = new AbortController();
    const attempt = async (): Promise<void> => {
      try {
        const issued = await api.ticket(place, abort.signal);
        if (!abort.signal.aborted) setTicket(issued);
      } catch (error) {
        if (abort.signal.aborted) return;
        if (error instanceof HoldfastError && isFinal(error)) setRefusal(error.message);
        else retry();
      }
    };
    const retry = (): void => {
      failed.current += 1;
      setFailures(failed.current);
      setWanted((count) => count + 1);
    };
    const timer = setTimeout(() => void attempt(), pauseAfter(failed.current));
    const hurry = (): void => void attempt();
    addEventListener("online", hurry);
    return () => {
      clearTimeout(timer);
      removeEventListener("online", hurry);
      abort.abort();
    };
  }, [api, place, wanted]);

  const renew = useCallback(() => {
    setTicket(null);
    failed.current += 1;
    setFailures(failed.current);
    setWanted((count) => count + 1);
  }, []);
  const opened = useCallback(() => {
    failed.current = 0;
    setFailures(0);
  }, []);
  return { ticket, refusal, failures, renew, opened };
}

function pauseAfter(failures: number): number {
  return failures === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
}

function isFinal({ status }: HoldfastError): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
