/** A person with a browser and a credential, and the app that they connect: OAuth by hand, and behind the clients' own provider. */
import { createHash, randomBytes } from "node:crypto";

export const REDIRECT = "http://127.0.0.1:53682/callback";

interface Asked {
  readonly scopes?: readonly string[];
  readonly clientName?: string;
}
interface Authorizing {
  readonly client: string;
  readonly codeChallenge: string;
  readonly method?: string;
  readonly scopes?: readonly string[];
}
interface Submitted {
  readonly handle: string;
  readonly cookie: string;
  readonly credential: string;
  readonly resource?: string;
  readonly origin?: string;
  readonly decision?: string;
  readonly scopes?: readonly string[];
}
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
}

export class OAuthPerson {
  readonly #url: string;
  readonly #credential: string;
  readonly #agent: string;

  constructor(url: string, credential: string, agent = "obeys") {
    this.#agent = agent;
    this.#url = url;
    this.#credential = credential;
  }

  /** What the published clients call back while they sign in. */
  provider() {
    const kept: { client?: unknown; tokens?: unknown; verifier?: string; address?: URL } = {};
    return {
      redirectUrl: REDIRECT,
      clientMetadata: {
        client_name: "Test app",
        redirect_uris: [REDIRECT],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
      clientInformation: () => kept.client,
      saveClientInformation: (client: unknown) => void (kept.client = client),
      tokens: () => kept.tokens,
      saveTokens: (tokens: unknown) => void (kept.tokens = tokens),
      redirectToAuthorization: (address: URL) => void (kept.address = address),
      saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
      codeVerifier: () => kept.verifier ?? "",
      code: async (): Promise<{ readonly code: string; readonly iss: string }> => {
        const { searchParams } = await this.allow(kept.address ?? new URL(this.#url));
        return { code: searchParams.get("code") ?? "", iss: searchParams.get("iss") ?? "" };
      },
    };
  }

  /** Opens what an app asked for in a browser and allows it; answers where the browser is sent. */
  async allow(address: URL): Promise<URL> {
    const done = await this.submit({
      ...(await this.#open(address)),
      credential: this.#credential,
    });
    return new URL(done.headers.get("location") ?? REDIRECT);
  }

  async register(clientName = "Test app", redirect = REDIRECT): Promise<string> {
    const response = await fetch(`${this.#url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: clientName,
        redirect_uris: [redirect],
        token_endpoint_auth_method: "none",
      }),
    });
    return (await response.json<{ client_id: string }>()).client_id;
  }

  authorize({ client, codeChallenge, method = "S256", scopes }: Authorizing): Promise<Response> {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: client,
      redirect_uri: REDIRECT,
      code_challenge: codeChallenge,
      code_challenge_method: method,
      resource: this.#resource(),
      state: "s",
      ...(scopes === undefined ? {} : { scope: scopes.join(" ") }),
    });
    return fetch(`${this.#url}/oauth/authorize?${query}`, { redirect: "manual" });
  }

  async openConsent({ scopes, clientName }: Asked) {
    const client = await this.register(clientName);
    const codeChallenge = createHash("sha256").update("v".repeat(43)).digest("base64url");
    return this.#read(
      await this.authorize({ client, codeChallenge, ...(scopes === undefined ? {} : { scopes }) }),
    );
  }

  submit(submitted: Submitted): Promise<Response> {
    const { handle, cookie, credential, origin, decision = "approve", scopes } = submitted;
    const { resource = this.#resource() } = submitted;
    const form = new URLSearchParams({ handle, resource, credential, decision });
    for (const scope of scopes ?? ["threads:read", "threads:write"]) form.append("scope", scope);
    return fetch(`${this.#url}/oauth/authorize`, {
      method: "POST",
      redirect: "manual",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        ...(cookie === "" ? {} : { cookie }),
        ...(origin === undefined ? {} : { origin }),
      },
      body: form.toString(),
    });
  }

  /** The code that the app gets. */
  async consent(asked: Authorizing): Promise<string> {
    const page = await this.#read(await this.authorize(asked));
    const { scopes } = asked;
    const submitted = { ...page, credential: this.#credential };
    return this.#codeOf(
      await this.submit(scopes === undefined ? submitted : { ...submitted, scopes }),
    );
  }

  token(given: { client: string; code: string; verifier: string }): Promise<Response> {
    return this.#post({
      grant_type: "authorization_code",
      client_id: given.client,
      code: given.code,
      code_verifier: given.verifier,
      redirect_uri: REDIRECT,
      resource: this.#resource(),
    });
  }

  /** `asking`: the id of an app that needs no registration. */
  async signIn({
    scopes,
    asking,
  }: Asked & { readonly asking?: string }): Promise<Tokens & { readonly client: string }> {
    const client = asking ?? (await this.register());
    const verifier = randomBytes(32).toString("base64url");
    const codeChallenge = createHash("sha256").update(verifier).digest("base64url");
    const asked = { client, codeChallenge, ...(scopes === undefined ? {} : { scopes }) };
    const code = await this.consent(asked);
    const tokens = await (await this.token({ client, code, verifier })).json<Tokens>();
    return { ...tokens, client };
  }

  async refresh(client: string, refreshToken: string): Promise<Tokens> {
    const form = {
      grant_type: "refresh_token",
      client_id: client,
      refresh_token: refreshToken,
      resource: this.#resource(),
    };
    return (await this.#post(form)).json<Tokens>();
  }

  revoke(client: string, token: string): Promise<Response> {
    return this.#post({ client_id: client, token });
  }

  #resource(): string {
    return `${this.#url}/mcp/${this.#agent}`;
  }

  #post(form: Readonly<Record<string, string>>): Promise<Response> {
    return fetch(`${this.#url}/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(form).toString(),
    });
  }

  async #open(address: URL) {
    return this.#read(await fetch(address, { redirect: "manual" }));
  }

  async #read(response: Response) {
    const html = await response.text();
    const handle = /name="handle" value="([^"]+)"/.exec(html)?.[1] ?? "";
    const resource = /name="resource" value="([^"]+)"/.exec(html)?.[1] ?? "";
    const cookie = response.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    return { handle, resource, cookie, html, headers: response.headers };
  }

  #codeOf(response: Response): string {
    const location = response.headers.get("location") ?? `${REDIRECT}?none`;
    return new URL(location).searchParams.get("code") ?? "";
  }
}
