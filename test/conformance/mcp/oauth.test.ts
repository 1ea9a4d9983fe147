/** OAuth 2.1 for MCP clients, through the sign-in of both published clients, and by hand where a client would not go. */
import { createHash, randomBytes } from "node:crypto";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import { OAuthPerson } from "../../support/oauth-person.ts";

let server: BundledServer;
let person: OAuthPerson;
beforeAll(async () => {
  server = await startBundled();
  person = new OAuthPerson(server.url, server.key);
});
afterAll(() => server.dispose());

const endpoint = (agent = "obeys"): URL => new URL(`${server.url}/mcp/${agent}`);
const INFO = { name: "t", version: "1" };

async function call(token: string, method: string, params: object, agent = "obeys") {
  const response = await fetch(endpoint(agent), {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

describe.each([
  ["@modelcontextprotocol/sdk 1.x", Client, StreamableHTTPClientTransport],
  ["@modelcontextprotocol/client 2.x", ModernClient, ModernTransport],
] as const)("%s", (_name, AnyClient, AnyTransport) => {
  it("[P86] finds the authorization server, registers, signs in and calls", async () => {
    const provider = person.provider();
    const connect = async () => {
      const client = new AnyClient(INFO);
      // Both generations have one constructor.
      const transport = new AnyTransport(endpoint(), { authProvider: provider } as never);
      return { client, transport, connected: client.connect(transport) };
    };
    const first = await connect();
    await expect(first.connected).rejects.toThrow(/unauthorized/i);
    const { code, iss } = await provider.code();
    await first.transport.finishAuth(code, iss as never);
    const second = await connect();
    await second.connected;
    const { tools } = await second.client.listTools();
    expect(tools.map(({ name }) => name)).toContain("ask");
    const said = await second.client.callTool({ name: "ask", arguments: { message: "say hi" } });
    expect(said.content).toEqual([{ type: "text", text: "hi" }]);
    await second.client.close();
  });
});

describe("the authorization server", () => {
  it("[P86] H03 every refusal without a valid token names where to sign in, by every method", async () => {
    const metadata = `${server.url}/.well-known/oauth-protected-resource/mcp/obeys`;
    const none = `e30.${Buffer.from('{"aud":"x"}').toString("base64url")}.`;
    for (const method of ["POST", "GET", "DELETE", "OPTIONS"])
      for (const authorization of [null, "Bearer a:b:c", `Bearer ${none}`]) {
        const headers = authorization === null ? {} : { authorization };
        const refused = await fetch(endpoint(), { method, headers });
        expect([method, authorization, refused.status]).toEqual([method, authorization, 401]);
        expect(refused.headers.get("www-authenticate")).toContain(
          `resource_metadata="${metadata}"`,
        );
      }
    expect(await (await fetch(metadata)).json()).toMatchObject({
      resource: endpoint().href,
      authorization_servers: [server.url],
    });
    const discovery = await fetch(`${server.url}/.well-known/oauth-authorization-server`);
    expect(await discovery.json()).toMatchObject({
      issuer: server.url,
      code_challenge_methods_supported: ["S256"],
    });
  });

  it("[P87] H03 a token is for one agent, has the scopes that were granted, and passes nowhere else", async () => {
    const { access_token: reads } = await person.signIn({ scopes: ["threads:read"] });
    const ask = { name: "ask", arguments: { message: "say x" } };
    expect((await call(reads, "tools/list", {})).status).toBe(200);
    expect((await call(reads, "tools/list", {}, "everything")).status).toBe(401);
    const refused = await call(reads, "tools/call", ask);
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toMatch(
      /error="insufficient_scope".*scope="threads:write threads:read"/,
    );
    const headers = { authorization: `Bearer ${reads}` };
    expect((await fetch(`${server.url}/v1/agents`, { headers })).status).toBe(401);
    const { access_token: writes } = await person.signIn({});
    const allowed = await call(writes, "tools/call", ask);
    expect([allowed.status, allowed.body.includes('"isError"')]).toEqual([200, false]);
  });

  it("[P87] a token is never wider than the key behind it", async () => {
    const narrow = await server.mint("u-narrow", ["threads:read"]);
    const other = new OAuthPerson(server.url, narrow);
    const token = await other.signIn({});
    expect(token.scope).toBe("threads:read");
    const page = await call(token.access_token, "tools/call", {
      name: "list_threads",
      arguments: {},
    });
    expect(page.body).toContain('{"threads":[]}');
    const ask = { name: "ask", arguments: { message: "say x" } };
    expect((await call(token.access_token, "tools/call", ask)).status).toBe(403);
  });

  it("[P88] without a credential, in another browser, or twice, nothing is granted", async () => {
    const { handle, cookie } = await person.openConsent({});
    const wrong = { handle, cookie, credential: `hf_${"x".repeat(43)}` };
    expect((await person.submit(wrong)).status).toBe(401);
    const { key: credential } = server;
    expect((await person.submit({ handle, cookie: "", credential })).status).toBe(400);
    const stranger = { handle, cookie, credential, origin: "https://evil.example" };
    expect((await person.submit(stranger)).status).toBe(403);
    expect((await person.submit({ handle, cookie, credential })).status).toBe(302);
    expect((await person.submit({ handle, cookie, credential })).status).toBe(400);
    const again = await person.openConsent({});
    const denied = await person.submit({ ...again, credential: "", decision: "deny" });
    expect(denied.headers.get("location")).toContain("error=access_denied");
  });

  it("[P88] the page escapes the app's own words, runs no script and can be framed by nobody", async () => {
    const { html, headers } = await person.openConsent({ clientName: "<script>x</script>" });
    expect(html).not.toContain("<script");
    expect(html).toContain("&#60;script&#62;");
    expect(html).toContain("127.0.0.1");
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("script-src");
  });

  it("[P89] PKCE is S256 only, a code works once, refresh tokens rotate, and a revoked token is over", async () => {
    const client = await person.register();
    const verifier = randomBytes(32).toString("base64url");
    const query = { client, codeChallenge: verifier, method: "plain" };
    expect((await person.authorize(query)).status).not.toBe(200);
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    const code = await person.consent({ client, codeChallenge: challenge });
    const wrong = await person.token({ client, code, verifier: "w".repeat(43) });
    expect(wrong.status).toBe(400);
    const fresh = await person.consent({ client, codeChallenge: challenge });
    const tokens = await (
      await person.token({ client, code: fresh, verifier })
    ).json<{
      access_token: string;
      refresh_token: string;
    }>();
    expect((await person.token({ client, code: fresh, verifier })).status).toBe(400);
    const again = await person.signIn({});
    const rotated = await person.refresh(again.client, again.refresh_token);
    expect(rotated.refresh_token).not.toBe(again.refresh_token);
    expect((await call(rotated.access_token, "tools/list", {})).status).toBe(200);
    await person.revoke(again.client, rotated.refresh_token);
    expect((await call(rotated.access_token, "tools/list", {})).status).toBe(401);
    expect(tokens.access_token).not.toBe(tokens.refresh_token);
  });
});
