/** Signed in or not. A credential that the server refuses leads back to the sign-in form, with the reason. */
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { Api } from "../api/api.ts";
import { forgetCredential, keepCredential, takeCredential } from "./session.ts";
import { SignIn } from "./sign-in.tsx";
import { Workspace } from "./workspace.tsx";

export function App(): ReactNode {
  const [credential, setCredential] = useState(takeCredential);
  const [refused, setRefused] = useState(false);
  const current = useRef(credential);
  useEffect(() => void (current.current = credential), [credential]);
  const api = useMemo(() => {
    if (credential === null) return null;
    return new Api(credential, () => {
      // The last word on an old credential may come when there is a new one.
      if (current.current !== credential) return;
      forgetCredential();
      setRefused(true);
      setCredential(null);
    });
  }, [credential]);

  function signIn(given: string): void {
    keepCredential(given);
    setRefused(false);
    setCredential(given);
  }
  function signOut(): void {
    forgetCredential();
    setCredential(null);
  }
  if (api === null) return <SignIn refused={refused} onSubmit={signIn} />;
  return <Workspace api={api} onSignOut={signOut} />;
}
