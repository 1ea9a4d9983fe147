/** An operator has stopped this conversation: who, why, and what helps. */
import type { ReactNode } from "react";
import type { Thread } from "#client/types.ts";
import { formatTime } from "../app/format.ts";
import { Notice } from "../app/notice.tsx";

interface Props {
  readonly halted: Thread["halted"];
  /** Null for who may not. */
  readonly onResume: (() => void) | null;
}

export function HaltedNotice({ halted, onResume }: Props): ReactNode {
  if (halted === null) return null;
  const { by, at, reason } = halted;
  const who = by === null ? "" : ` by ${by}`;
  const why = reason === null ? "" : `: “${reason}”`;
  const then =
    onResume === null ? "Ask an operator to resume it." : "Nothing starts until it is resumed.";
  return (
    <Notice kind="warn" text={`Halted${who}, ${formatTime(at)}${why}. ${then}`}>
      {onResume !== null && (
        <button type="button" className="button button-small" onClick={onResume}>
          Resume
        </button>
      )}
    </Notice>
  );
}
