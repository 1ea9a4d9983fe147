/** The one thing the page asks for before anything else, and where to find it. */
import { useState, type ReactNode, type SyntheticEvent } from "react";
import { Icon, Logo } from "./icon.tsx";

interface Props {
  /** The last credential was refused: expired, revoked or mistyped. */
  readonly refused: boolean;
  readonly onSubmit: (credential: string) => void;
}

export function SignIn({ refused, onSubmit }: Props): ReactNode {
  const [credential, setCredential] = useState("");
  function submit(event: SyntheticEvent): void {
    event.preventDefault();
    if (credential.trim() !== "") onSubmit(credential.trim());
  }
  return (
    <main className="sign-in">
      <form onSubmit={submit} className="sign-in-card">
        <Logo size={40} />
        <h1>Holdfast</h1>
        <p className="muted">Agents that survive crashes, and can prove what they did.</p>
        {refused && (
          <p className="notice notice-warn" role="alert">
            <Icon name="alert" />
            <span>
              That key or link is not valid, or has expired. Links of <code>npm start</code> last
              one hour.
            </span>
          </p>
        )}
        <label htmlFor="credential">API key or user token</label>
        <input
          id="credential"
          type="password"
          autoComplete="off"
          spellCheck={false}
          placeholder="hf_…"
          value={credential}
          onChange={(event) => setCredential(event.target.value)}
          autoFocus
        />
        <button type="submit" className="button button-primary" disabled={credential.trim() === ""}>
          Open
        </button>
        <div className="sign-in-help">
          <h2>Running it on this computer?</h2>
          <p>
            Run <code>npm run link</code> and click what it prints, or paste the <code>key</code> of{" "}
            <code>.holdfast/dev.json</code>.
          </p>
          <p className="muted">It is kept in this tab only, and forgotten when you close it.</p>
        </div>
      </form>
    </main>
  );
}
