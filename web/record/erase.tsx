/** Forgets what was said here (H30). Asked twice, because nothing brings it back; shown to who may. */
import { Fragment, useEffect, useRef, useState, type ReactNode } from "react";
import type { Erasure } from "#client/types.ts";
import { plural } from "../app/format.ts";
import { Icon } from "../app/icon.tsx";

interface Props {
  /** Null where it was refused: the page says why. */
  readonly onErase: () => Promise<Erasure | null>;
}

export function Erase({ onErase }: Props): ReactNode {
  const [phase, setPhase] = useState<"idle" | "asked" | "sent">("idle");
  const [receipt, setReceipt] = useState<Erasure | null>(null);
  const keep = useRef<HTMLButtonElement>(null);
  const begin = useRef<HTMLButtonElement>(null);
  // The keyboard lands on what does no harm, and comes back to where it was.
  useEffect(() => {
    if (phase === "asked") keep.current?.focus();
  }, [phase]);

  async function erase(): Promise<void> {
    setPhase("sent");
    setReceipt(await onErase());
    setPhase("idle");
  }
  function cancel(): void {
    setPhase("idle");
    queueMicrotask(() => begin.current?.focus());
  }
  return (
    <section className="explained" aria-label="Erasure">
      <h3>Erase</h3>
      {receipt !== null && <Receipt receipt={receipt} />}
      {phase === "idle" ? (
        <>
          <p className="small muted">
            Everything that was said, and all files, are erased for good, here and in every store.
            Costs and the chain of the record stay.
          </p>
          <button
            ref={begin}
            type="button"
            className="button button-small button-danger"
            onClick={() => setPhase("asked")}
          >
            Erase this conversation …
          </button>
        </>
      ) : (
        <div
          className="explained-notes"
          role="group"
          aria-labelledby="erase-asked"
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            cancel();
          }}
        >
          <p id="erase-asked" className="small">
            <strong>Erase this conversation and its files?</strong> Nothing brings them back.
          </p>
          <div className="row">
            <button
              ref={keep}
              type="button"
              className="button button-small"
              disabled={phase === "sent"}
              onClick={cancel}
            >
              Keep it
            </button>
            <button
              type="button"
              className="button button-small button-danger"
              disabled={phase === "sent"}
              onClick={() => void erase()}
            >
              {phase === "sent" ? "Erasing …" : "Erase for good"}
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

function Receipt({ receipt }: { readonly receipt: Erasure }): ReactNode {
  const { erasureId, status, stores } = receipt;
  const count = stores.reduce((sum, store) => sum + store.count, 0);
  return (
    <div role="status">
      <p className="mark mark-good">
        <Icon name="check" />
        {status === "done"
          ? `Erased: ${plural(count, "item")} in ${plural(stores.length, "store")}.`
          : "It is being erased, and goes on by itself until every store has answered."}
      </p>
      <details className="fold">
        <summary>The receipt</summary>
        <dl className="facts">
          <dt>Id</dt>
          <dd>
            <code>{erasureId}</code>
          </dd>
          {stores.map(({ store, count: erased }) => (
            <Fragment key={store}>
              <dt>{store.replaceAll("_", " ")}</dt>
              <dd>{erased}</dd>
            </Fragment>
          ))}
        </dl>
      </details>
    </div>
  );
}
