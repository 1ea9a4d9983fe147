/**
 * The credential of this tab. It comes in the fragment of a link, which no server sees, or from the sign-in form; it is
 * kept for this tab only and leaves the address bar before anything else happens.
 */
const STORAGE_KEY = "holdfast.credential";
const IN_FRAGMENT = /^#token=([^&]+)$/;

export function takeCredential(): string | null {
  const found = IN_FRAGMENT.exec(location.hash)?.[1];
  if (found === undefined) return sessionStorage.getItem(STORAGE_KEY);
  history.replaceState(null, "", location.pathname);
  keepCredential(decodeURIComponent(found));
  return decodeURIComponent(found);
}

export function keepCredential(credential: string): void {
  sessionStorage.setItem(STORAGE_KEY, credential);
}

export function forgetCredential(): void {
  sessionStorage.removeItem(STORAGE_KEY);
}
