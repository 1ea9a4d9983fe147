/** The event that says so: its place in the log, its time, and its hash, whole as a title. */
import type { ReactNode } from "react";
import { formatTime } from "../app/format.ts";

interface Place {
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
}

const SHOWN = 12;

export function Evidence({ seq, hash, at }: Place): ReactNode {
  return (
    <p className="evidence">
      event {seq} · {formatTime(at)} · <code title={hash}>{hash.slice(0, SHOWN)}</code>
    </p>
  );
}

export function Erased({ what }: { readonly what: string }): ReactNode {
  return (
    <p className="erased">{what} was erased. The event, its hash and its cost are still here.</p>
  );
}
