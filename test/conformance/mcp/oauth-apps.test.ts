/** OAuth for apps that are known by an address, and for agents that are data. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import { OAuthPerson, REDIRECT } from "../../support/oauth-person.ts";

const APP = "https://app.example.com/oauth/client.json";
const LIAR = "https://liar.example.com/oauth/client.json";
const DESCRIPTION = {
  client_id: APP,
  client_name: "Documented app",
  redirect_uris: [REDIRECT],
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
};
/** Where a request of the server itself must never go. */
const INNER = [
  "https://169.254.169.254/latest/client.json",
  "https://10.0.0.1/client.json",
  "https://[::ffff:10.0.0.1]/client.json",
  "https://2130706433/client.json",
  "https://metadata.internal/client.json",
];

let server: BundledServer;
let person: OAuthPerson;
const asked: string[] = [];
beforeAll(async () => {
  server = await startBundled({
    [APP]: DESCRIPTION,
    // It claims to be the other one.
    [LIAR]: DESCRIPTION,
    ...Object.fromEntries(INNER.map((address) => [new URL(address).href, inner(address)])),
  });
  person = new OAuthPerson(server.url, server.key);
});
afterAll(() => server.dispose());

/** Says that it was asked. */
function inner(address: string): object {
  return {
    toJSON: () => {
      asked.push(address);
      return { ...DESCRIPTION, client_id: address };
    },
  };
}

async function tools(token: string, agent: string): Promise<number> {
  const response = await fetch(`${server.url}/mcp/${agent}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
  });
  await response.body?.cancel();
  return response.status;
}
const codeChallenge = "x".repeat(43);

describe("an app that is known by the address of its description", () => {
  it("[P107] signs in without a registration, and the page names who published it", async () => {
    const page = await person.authorize({ client: APP, codeChallenge });
    const html = await page.text();
    expect(page.status).toBe(200);
    expect(html).toContain("Documented app");
    expect(html).toContain("<strong>app.example.com</strong>");
    const { access_token, refresh_token, client } = await person.signIn({ asking: APP });
    expect(await tools(access_token, "obeys")).toBe(200);
    const again = await person.refresh(client, refresh_token);
    expect(await tools(again.access_token, "obeys")).toBe(200);
  });

  it("[P107] one whose description is another's, or is not there, is told so on the page", async () => {
    for (const client of [LIAR, "https://app.example.com/none.json"]) {
      const refused = await person.authorize({ client, codeChallenge });
      expect([client, refused.status]).toEqual([client, 400]);
      expect(await refused.text()).toContain("could not be verified");
    }
  });

  it.each(INNER)("[P107] H03 %s is fetched by no request, however it is named", async (client) => {
    expect((await person.authorize({ client, codeChallenge })).status).toBe(400);
    const claims = Buffer.from(JSON.stringify({ iss: client, sub: client })).toString("base64url");
    const grant = { grant_type: "authorization_code", code: "a:b:c", code_verifier: "v" };
    const basic = Buffer.from(`${encodeURIComponent(client)}:s`).toString("base64");
    const type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const ways: readonly (readonly [Record<string, string>, Record<string, string>])[] = [
      [{ ...grant, client_id: client }, {}],
      [grant, { authorization: `Basic ${basic}` }],
      [{ ...grant, client_assertion: `e30.${claims}.x`, client_assertion_type: type }, {}],
    ];
    for (const [form, headers] of ways) {
      const refused = await fetch(`${server.url}/oauth/token`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        body: new URLSearchParams(form).toString(),
      });
      expect([refused.status, await refused.json()]).toEqual([
        401,
        { error: "invalid_client", error_description: "Client not found" },
      ]);
    }
    expect(asked).toEqual([]);
  });
});

describe("an agent that is data", () => {
  it("[P108] is signed in to like one of the code, by those whose tenant has it", async () => {
    const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
    const made = await fetch(`${server.url}/v1/agents`, {
      method: "POST",
      headers,
      body: JSON.stringify({ name: "stored", instructions: "x", route: "test/obeys", tools: [] }),
    });
    const { definition } = await made.json<{ definition: string }>();
    const promoted = await fetch(`${server.url}/v1/agents/stored/versions/${definition}/promote`, {
      method: "POST",
      headers,
    });
    expect([made.status, promoted.status]).toEqual([201, 200]);
    const own = new OAuthPerson(server.url, server.key, "stored");
    const { access_token, refresh_token, client } = await own.signIn({});
    expect(await tools(access_token, "stored")).toBe(200);
    expect(await tools(access_token, "obeys")).toBe(401);
    const again = await own.refresh(client, refresh_token);
    expect(await tools(again.access_token, "stored")).toBe(200);
    await own.revoke(client, again.refresh_token);
    expect(await tools(again.access_token, "stored")).toBe(401);
  });

  it("[P108] one that nobody has is described alike, and granted to nobody", async () => {
    const metadata = `${server.url}/.well-known/oauth-protected-resource/mcp/nobody`;
    expect(await (await fetch(metadata)).json()).toMatchObject({
      resource: `${server.url}/mcp/nobody`,
    });
    const stranger = new OAuthPerson(server.url, server.key, "nobody");
    const page = await stranger.openConsent({});
    const refused = await stranger.submit({ ...page, credential: server.key });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain("has no agent at the address");
  });

  it("[P108] a page that names another agent than the app asked for grants nothing", async () => {
    const page = await person.openConsent({});
    const moved = { ...page, credential: server.key, resource: `${server.url}/mcp/stored` };
    const { status, headers } = await person.submit(moved);
    expect([status, headers.get("location")]).toEqual([400, null]);
  });
});
