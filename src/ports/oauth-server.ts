/**
 * OAuthServer: the authorization server of this deployment (OAuth 2.1), as the HTTP layer sees it. Its vendor package keeps
 * clients, grants and tokens; secrets only as hashes.
 *
 * A token is for one resource and carries no right by itself: it names whoever consented, and is judged again at each use
 * (auth/oauth-grants.ts).
 */

/** Who consented. Stored with the grant, readable with the token only. */
export interface GrantHolder {
  readonly tenant: string;
  readonly kind: "user" | "service" | "operator";
  readonly id: string;
  /** The key that was shown, or that vouched for the token that was. */
  readonly keyId: string;
}
export interface GrantedToken {
  readonly holder: GrantHolder;
  readonly scopes: readonly string[];
  /** Epoch ms. */
  readonly expiresAt: number;
  readonly clientId: string;
}
/** What a person has to know before they say yes. Client names are the client's own words. */
export interface ConsentFacts {
  readonly clientName: string;
  /** Verified domain of the client; null where its name is only its own word. */
  readonly clientDomain: string | null;
  readonly redirectHost: string;
  readonly redirectOrigin: string;
  readonly redirectIsLocal: boolean;
  readonly scopes: readonly string[];
  readonly resource: string | null;
}
export interface ConsentPage {
  readonly facts: ConsentFacts;
  /** Works once, for ten minutes, in the browser that was shown the page. */
  readonly handle: string;
  readonly headers: Headers;
}
export interface Grant {
  readonly holder: GrantHolder;
  readonly scopes: readonly string[];
  /** As the page named it; another than the one asked for is refused. */
  readonly resource: string | null;
}
export type Consent<T> =
  | { readonly ok: true; readonly value: T }
  /** `redirectTo` only where the client and its address are known to be right. */
  | { readonly ok: false; readonly message: string; readonly redirectTo: string | null };

export interface OAuthServer {
  /** Discovery, tokens, revocation and registration; null for any other path. */
  serve(request: Request): Promise<Response | null>;
  begin(request: Request): Promise<Consent<ConsentPage>>;
  approve(request: Request, handle: string, grant: Grant): Promise<Consent<Headers>>;
  deny(request: Request, handle: string): Promise<Consent<Headers>>;
  /** Null for a token that is not valid at this resource. */
  check(resource: string, token: string): Promise<GrantedToken | null>;
}
