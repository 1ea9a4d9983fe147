/** An operator's stop of the whole conversation (B10), and its end. Shown to who may. */
import { useState, type ReactNode, type SyntheticEvent } from "react";
import type { Thread } from "#client/types.ts";
import { Icon } from "../app/icon.tsx";

interface Props {
  readonly halted: Thread["halted"];
  readonly onHalt: (reason: string) => Promise<boolean>;
  readonly onResume: () => Promise<boolean>;
}

const MAX_REASON = 500;

export function Operator({ halted, onHalt, onResume }: Props): ReactNode {
  const [reason, setReason] = useState("");
  const [sent, setSent] = useState(false);

  async function ask(work: Promise<boolean>): Promise<void> {
    setSent(true);
    if (await work) setReason("");
    setSent(false);
  }
  function submit(event: SyntheticEvent): void {
    event.preventDefault();
    void ask(halted === null ? onHalt(reason.trim()) : onResume());
  }
  return (
    <form className="explained" onSubmit={submit}>
      <h3>Operator</h3>
      {halted === null ? (
        <>
          <p className="small muted">
            Halting starts no further model call and no further tool, whatever happens, until
            somebody resumes it. Tools that run are let finish.
          </p>
          <label className="ask-comment">
            <span className="small muted">Why (it is recorded, and everybody here reads it)</span>
            <input
              type="text"
              value={reason}
              maxLength={MAX_REASON}
              disabled={sent}
              onChange={(event) => setReason(event.target.value)}
            />
          </label>
          <button type="submit" className="button button-small button-danger" disabled={sent}>
            <Icon name="pause" /> Halt this conversation
          </button>
        </>
      ) : (
        <>
          <p className="small muted">It is halted. Resumed, it goes on where it was.</p>
          <button type="submit" className="button button-small button-primary" disabled={sent}>
            Resume it
          </button>
        </>
      )}
    </form>
  );
}
