/** Timers: waiting inside one wake (idle streams, tool timeouts). What must survive a restart waits by an alarm instead. */
export interface Timers {
  /** Calls `fire` once after `ms`; the answer cancels it. */
  after(ms: number, fire: () => void): () => void;
}

export const SYSTEM_TIMERS: Timers = {
  after(ms, fire) {
    const id = setTimeout(fire, ms);
    return () => clearTimeout(id);
  },
};
