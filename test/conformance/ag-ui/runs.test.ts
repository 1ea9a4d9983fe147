/**
 * AG-UI through the published `HttpAgent`, whose pipeline verifies the order of all events; a replay goes through the same
 * verifier by a `fetch` that reads a run again.
 */
import { HttpAgent, type BaseEvent } from "@ag-ui/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";

let server: BundledServer;
let threads = 0;

beforeAll(async () => {
  server = await startBundled();
});
afterAll(() => server.dispose());

class Client {
  readonly agent: HttpAgent;
  readonly threadId: string;
  readonly events: BaseEvent[] = [];
  run = "";

  constructor(threadId = `agui-${(threads += 1)}`, replay: string | null = null) {
    this.threadId = threadId;
    const headers = { authorization: `Bearer ${server.key}` };
    this.agent = new HttpAgent({
      url: `${server.url}/ag-ui/obeys`,
      threadId,
      headers,
      fetch: async (url, init) => {
        const response =
          replay === null
            ? await fetch(url, init)
            : await fetch(`${url}/${threadId}/runs/${replay}`, { headers });
        this.run = response.headers.get("x-holdfast-run") ?? "";
        return response;
      },
    });
  }

  async ask(text: string, parameters: Parameters<HttpAgent["runAgent"]>[0] = {}): Promise<this> {
    if (text !== "") {
      this.agent.addMessage({ id: `m-${crypto.randomUUID()}`, role: "user", content: text });
    }
    this.events.length = 0;
    await this.agent.runAgent(parameters, { onEvent: ({ event }) => void this.events.push(event) });
    return this;
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }
  get said(): unknown {
    return this.agent.messages.at(-1)?.content;
  }
  last(type: string): BaseEvent | undefined {
    return this.events.findLast((event) => event.type === type);
  }
}

describe("HttpAgent, unchanged", () => {
  it("[P70][P71] a completed run: text, one step, success and usage", async () => {
    const client = await new Client().ask("slow 3");
    expect(client.types.filter((type) => type !== "TEXT_MESSAGE_CONTENT")).toEqual([
      "RUN_STARTED",
      "STEP_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_END",
      "STEP_FINISHED",
      "RUN_FINISHED",
    ]);
    expect(client.said).toBe("w1 w2 w3 ");
    expect(client.last("RUN_FINISHED")).toMatchObject({
      outcome: { type: "success" },
      usage: [{ inputTokens: 1, outputTokens: 1 }],
    });
    await client.ask("say more");
    expect(client.said).toBe("more");
  });

  it("[P71] a tool of the agent: call, arguments, result", async () => {
    const client = await new Client().ask('call add {"a":2,"b":3}');
    expect(client.types).toEqual(
      expect.arrayContaining([
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
      ]),
    );
    expect(client.last("TOOL_CALL_RESULT")).toMatchObject({ content: '{"sum":5}' });
    expect(client.said).toBe('got {"sum":5}');
  });

  it("[P70] a tool of the client waits, and its result goes on with the run", async () => {
    const look = {
      name: "look",
      description: "Looks.",
      parameters: { type: "object", properties: {} },
    };
    const client = await new Client().ask("call look {}", { tools: [look] });
    const finished = client.last("RUN_FINISHED");
    expect(finished).toMatchObject({
      outcome: { type: "success", pendingToolCallIds: [expect.any(String)] },
    });
    const { toolCallId } = client.last("TOOL_CALL_START") as { toolCallId?: string };
    client.agent.addMessage({
      id: "result-1",
      role: "tool",
      toolCallId: toolCallId ?? "",
      content: "a tree",
    });
    await client.ask("", { tools: [look] });
    expect(client.said).toBe("got a tree");
  });

  it("[P71] an interrupted run names what waits; resolved it goes on, cancelled it is denied", async () => {
    const client = await new Client().ask('call refund {"order":7}');
    expect(client.last("RUN_FINISHED")).toMatchObject({ outcome: { type: "interrupt" } });
    const [interrupt] = client.agent.pendingInterrupts;
    expect(interrupt).toMatchObject({ reason: "approval" });
    const interruptId = interrupt?.id ?? "";
    await client.ask("", {
      resume: [{ interruptId, status: "resolved", payload: { approved: true } }],
    });
    expect(client.said).toBe("got refunded 7");

    // Told again as a whole, the run does not stop at what was decided since.
    const replayed = await new Client(client.threadId, client.run).ask("x");
    expect(replayed.said).toBe("got refunded 7");

    const other = await new Client().ask('call refund {"order":8}');
    const id = other.agent.pendingInterrupts[0]?.id ?? "";
    await other.ask("", { resume: [{ interruptId: id, status: "cancelled" }] });
    expect(other.said).toMatch(/^got denied_by_human/);
  });

  it("[P71] a cancelled run ends as cancelled, a refused one with the reason", async () => {
    const client = new Client();
    const asked = client.ask("slow 500");
    await expect
      .poll(() => client.types.includes("TEXT_MESSAGE_CONTENT"), { timeout: 10_000 })
      .toBe(true);
    await fetch(
      `${server.url}/v1/agents/obeys/threads/${client.threadId}/runs/${client.run}/cancel`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${server.key}` },
      },
    );
    await asked;
    expect(client.last("RUN_FINISHED")).toMatchObject({ outcome: { type: "cancelled" } });
    expect(client.types.filter((type) => type === "TEXT_MESSAGE_END")).toHaveLength(1);
  });

  it("[P71][P72] runs read again: completed, with tools, interrupted and resumed, cancelled", async () => {
    for (const text of ["slow 3", 'call add {"a":1,"b":1}', 'call refund {"order":1}']) {
      const live = await new Client().ask(text);
      const replayed = await new Client(live.threadId, live.run).ask("x");
      const compact = (client: Client) => [
        ...new Set(client.types.filter((type) => type !== "TEXT_MESSAGE_CONTENT")),
      ];
      expect(compact(replayed)).toEqual(compact(live));
      expect(replayed.said).toEqual(live.said);
    }
  });

  it("[P72] G03 a stream that was cut goes on behind its last event: nothing lost, nothing twice", async () => {
    const threadId = `agui-${(threads += 1)}`;
    const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
    const body = JSON.stringify({
      threadId,
      runId: "r1",
      messages: [{ id: "m1", role: "user", content: "slow 40" }],
      tools: [],
      context: [],
    });
    const abort = new AbortController();
    const first = await fetch(`${server.url}/ag-ui/obeys`, {
      method: "POST",
      headers,
      body,
      signal: abort.signal,
    });
    const run = first.headers.get("x-holdfast-run") ?? "";
    let seen = "";
    const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (!seen.includes("w7 ")) seen += (await reader?.read())?.value ?? "";
    abort.abort();
    const blocks = seen.slice(0, seen.lastIndexOf("\n\n")).split("\n\n");
    const lastId = blocks.at(-1)?.match(/^id: (\S+)/m)?.[1] ?? "";
    const rest = await fetch(`${server.url}/ag-ui/obeys/${threadId}/runs/${run}`, {
      headers: { ...headers, "last-event-id": lastId },
    });
    const text = [...blocks, ...(await rest.text()).split("\n\n")]
      .map((block) => /^data: (.*)$/m.exec(block)?.[1])
      .flatMap((data) => (data === undefined ? [] : [JSON.parse(data) as Record<string, unknown>]))
      .map((event) => (event["type"] === "TEXT_MESSAGE_CONTENT" ? String(event["delta"]) : ""))
      .join("");
    expect(text).toBe(Array.from({ length: 40 }, (_, word) => `w${word + 1} `).join(""));
    // The same run id is the same run.
    const again = await fetch(`${server.url}/ag-ui/obeys`, { method: "POST", headers, body });
    expect(again.headers.get("x-holdfast-run")).toBe(run);
    await again.body?.cancel();
  });

  it("[P70] refuses before a run begins, as a problem document", async () => {
    const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
    const refused = await fetch(`${server.url}/ag-ui/obeys`, {
      method: "POST",
      headers,
      body: JSON.stringify({ threadId: "not an id", runId: "r", messages: [] }),
    });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { code: "invalid_request", context: { path: "/threadId" } },
    ]);
    const unknown = await fetch(`${server.url}/ag-ui/nobody`, {
      method: "POST",
      headers,
      body: "{}",
    });
    expect(unknown.status).toBe(404);
  });
});
