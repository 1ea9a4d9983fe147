/** Checks the record of this conversation on request, and says what was checked. */
import { useState, type ReactNode } from "react";
import type { Api } from "../api/api.ts";
import { toMessage } from "../api/to-message.ts";
import type { Verification } from "#client/types.ts";
import type { Place } from "../api/types.ts";
import { formatTime } from "../app/format.ts";
import { Icon } from "../app/icon.tsx";
import { Notice } from "../app/notice.tsx";
import { joinParts, toVerifyWords } from "./verify-words.ts";

type State =
  | { readonly is: "idle" }
  | { readonly is: "busy"; readonly upTo: number }
  | { readonly is: "found"; readonly found: Verification; readonly at: number }
  | { readonly is: "failed"; readonly why: string };

export function Verify({ api, place }: { readonly api: Api; readonly place: Place }): ReactNode {
  const [state, setState] = useState<State>({ is: "idle" });

  async function verify(): Promise<void> {
    setState({ is: "busy", upTo: 0 });
    try {
      let found = joinParts(null, await api.verify(place, 0));
      while (found.ok && found.next !== null) {
        setState({ is: "busy", upTo: found.to });
        found = joinParts(found, await api.verify(place, found.next));
      }
      setState({ is: "found", found, at: Date.now() });
    } catch (reason) {
      setState({ is: "failed", why: toMessage(reason) });
    }
  }
  return (
    <section className="explained">
      <h3>Verify</h3>
      <p className="small muted">
        Each event of this conversation holds the hash of the one before, and heads of the chain are
        signed and kept elsewhere. Checking computes it all again.
      </p>
      <button
        type="button"
        className="button button-small"
        disabled={state.is === "busy"}
        onClick={() => void verify()}
      >
        <Icon name="record" /> {state.is === "busy" ? "Checking …" : "Verify the record"}
      </button>
      <div role="status">
        {state.is === "busy" && state.upTo > 0 && (
          <p className="small muted">Checked up to event {state.upTo}.</p>
        )}
        {state.is === "found" && <Found found={state.found} at={state.at} />}
      </div>
      {state.is === "failed" && <Notice kind="error" text={state.why} />}
    </section>
  );
}

function Found(props: { readonly found: Verification; readonly at: number }): ReactNode {
  const { ok, verdict, checks } = toVerifyWords(props.found);
  return (
    <>
      <p className={`mark ${ok ? "mark-good" : "mark-bad"}`}>
        <Icon name={ok ? "check" : "alert"} />
        {verdict}
      </p>
      <ul className="checks">
        {checks.map((check) => (
          <li key={check}>{check}</li>
        ))}
      </ul>
      <p className="evidence">
        Head: event {props.found.head.seq}{" "}
        <code title={props.found.head.hash}>{props.found.head.hash.slice(0, 12)}</code> · checked{" "}
        {formatTime(props.at)}
      </p>
    </>
  );
}
