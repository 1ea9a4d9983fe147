/** Each agent as a remote MCP server, through both published clients: the generation before and the stateless one. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;
beforeAll(async () => {
  server = await startBundled();
});
afterAll(() => server.dispose());

interface Called {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Record<string, unknown>;
}
interface McpClient {
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  call(name: string, args: Record<string, unknown>): Promise<Called>;
  read(uri: string): Promise<string>;
  close(): Promise<void>;
}
const INFO = { name: "test", version: "1" };
const endpoint = () => new URL(`${server.url}/mcp/obeys`);
const requestInit = () => ({ headers: { authorization: `Bearer ${server.key}` } });

async function older(): Promise<McpClient> {
  const client = new Client(INFO);
  await client.connect(
    new StreamableHTTPClientTransport(endpoint(), { requestInit: requestInit() }),
  );
  return {
    listTools: () => client.listTools(),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Called,
    read: async (uri) => JSON.stringify((await client.readResource({ uri })).contents[0]),
    close: () => client.close(),
  };
}
async function modern(): Promise<McpClient> {
  const client = new ModernClient(INFO);
  await client.connect(new ModernTransport(endpoint(), { requestInit: requestInit() }));
  return {
    listTools: () => client.listTools(),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Called,
    read: async (uri) => JSON.stringify((await client.readResource({ uri })).contents[0]),
    close: () => client.close(),
  };
}

describe.each([
  ["@modelcontextprotocol/sdk 1.x", older],
  ["@modelcontextprotocol/client 2.x", modern],
])("%s", (_name, connect) => {
  it("[P81] lists the tools of the agent's server and asks it", async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      "answer",
      "ask",
      "list_threads",
      "run_result",
      "run_status",
      "start_run",
    ]);
    const said = await client.call("ask", { message: 'call add {"a":2,"b":3}' });
    expect(said.content).toEqual([{ type: "text", text: 'got {"sum":5}' }]);
    expect(said.structuredContent).toMatchObject({ status: "completed", waiting: [] });
    await client.close();
  });

  it("[P82] starts a run, looks after it, and reads its thread", async () => {
    const client = await connect();
    const started = await client.call("start_run", { message: "slow 20" });
    const { thread, run } = started.structuredContent ?? {};
    expect(["queued", "running"]).toContain(
      (await client.call("run_status", { thread, run })).structuredContent?.["status"],
    );
    const done = await client.call("run_result", { thread, run });
    expect(done.structuredContent).toMatchObject({ status: "completed", thread, run });
    expect(done.content[0]?.text).toMatch(/^w1 .* w20 $/);
    const listed = await client.call("list_threads", {});
    expect(JSON.stringify(listed.structuredContent)).toContain(String(thread));
    expect(await client.read(`holdfast://threads/${String(thread)}/transcript`)).toContain(
      "slow 20",
    );
    await client.close();
  });

  it("[P82] says what waits for a person, and takes the answer", async () => {
    const client = await connect();
    const asked = await client.call("ask", { message: 'call refund {"order":7}' });
    const { thread, waiting } = asked.structuredContent ?? {};
    const [first] = waiting as { approval: string; tool: string; args: unknown }[];
    expect(first).toMatchObject({ tool: "refund", args: { order: 7 } });
    const run = asked.structuredContent?.["run"];
    await client.call("answer", { thread, approval: first?.approval, decision: "approve" });
    const done = await client.call("run_result", { thread, run });
    expect(done.content[0]?.text).toBe("got refunded 7");
    await client.close();
  });

  it("[P83] F08 an error has words and no structured content", async () => {
    const client = await connect();
    const missing = await client.call("run_status", { thread: "nowhere", run: "run_0" });
    expect(missing).toMatchObject({ isError: true });
    expect(missing.structuredContent).toBeUndefined();
    expect(missing.content[0]?.text).toMatch(/^not_found:/);
    await client.close();
  });
});

describe("the endpoint", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: INFO },
  };
  const post = (headers: Record<string, string>) =>
    fetch(endpoint(), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify(initialize),
    });

  it("[P80] H03 refuses pages of other origins and callers without credentials, by every method", async () => {
    const authorization = `Bearer ${server.key}`;
    expect((await post({ authorization, origin: "https://evil.example" })).status).toBe(403);
    const anonymous = await post({});
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get("www-authenticate")).toMatch(/^Bearer/);
    for (const method of ["GET", "DELETE", "OPTIONS"]) {
      const evil = await fetch(endpoint(), {
        method,
        headers: { authorization, origin: "https://evil.example" },
      });
      expect([method, evil.status]).toEqual([method, 403]);
      expect([method, (await fetch(endpoint(), { method })).status]).toEqual([method, 401]);
    }
    expect((await post({ authorization: "Bearer hf_no" })).status).toBe(401);
    expect((await post({ authorization })).status).toBe(200);
    const own = await post({ authorization, origin: server.url });
    expect(own.status).toBe(200);
  });

  it("[P85] H03 a host that is not this service's is refused, by every method", async () => {
    const { port } = endpoint();
    for (const method of ["POST", "GET", "DELETE", "OPTIONS"]) {
      const status = await new Promise((resolve, reject) => {
        const headers = { host: "evil.example", authorization: `Bearer ${server.key}` };
        const path = "/mcp/obeys";
        request({ hostname: "127.0.0.1", port, path, method, headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        })
          .on("error", reject)
          .end();
      });
      expect([method, status]).toEqual([method, 403]);
    }
  });

  it("[P81] a credential can do over MCP what it can do over REST, and no more", async () => {
    const began = await (await older()).call("ask", { message: "say secret" });
    const { thread, run } = began.structuredContent ?? {};
    const minted = await fetch(`${server.url}/v1/tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
      body: JSON.stringify({ user: "u1", scopes: ["files:read"] }),
    });
    const { token } = await minted.json<{ token: string }>();
    const client = new Client(INFO);
    const init = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(endpoint(), { requestInit: init }));
    for (const [name, args] of [
      ["ask", { message: "say x" }],
      ["start_run", { message: "say x" }],
      ["run_status", { thread, run }],
      ["run_result", { thread, run }],
      ["answer", { thread, approval: "evt_0", decision: "approve" }],
      ["list_threads", {}],
    ] as const) {
      const said = (await client.callTool({ name, arguments: args })) as Called;
      expect([name, said.isError, said.content[0]?.text]).toEqual([
        name,
        true,
        expect.stringMatching(/^forbidden: This needs the scope threads:/),
      ]);
    }
    const uri = `holdfast://threads/${String(thread)}/transcript`;
    await expect(client.readResource({ uri })).rejects.toThrow("forbidden");
    const headers = { authorization: `Bearer ${token}` };
    const other = await Promise.all([
      fetch(`${server.url}/openai/v1/responses/resp_obeys.${String(thread)}.${String(run)}.1`, {
        headers,
      }),
      fetch(`${server.url}/ag-ui/obeys/${String(thread)}/runs/${String(run)}`, { headers }),
    ]);
    expect(other.map(({ status }) => status)).toEqual([403, 403]);
    await client.close();
  });

  it("[P84] fifty clients at once, each with its own answer", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const client = await (index % 2 === 0 ? older() : modern());
        const said = await client.call("ask", { message: `say canary-${index}` });
        await client.close();
        return said.content[0]?.text;
      }),
    );
    expect(answers).toEqual(Array.from({ length: 50 }, (_, index) => `canary-${index}`));
  });
});
