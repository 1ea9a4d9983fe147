/** What an agent exports over MCP: tools through the gate, questions to the client, tasks, streams that are come back for. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBundled, type BundledServer } from "../../support/bundled-server.ts";
import { McpRaw, TASKS } from "../../support/mcp-raw.ts";

let server: BundledServer;
beforeAll(async () => {
  server = await startBundled();
});
afterAll(() => server.dispose());

const raw = (agent = "everything"): McpRaw => new McpRaw(server.url, server.key, agent);
const accept = (content: object) => ({ action: "accept", content });

async function eventsOf(thread: string): Promise<readonly { type: string; payload: unknown }[]> {
  const path = `/v1/agents/everything/threads/${thread}/events?limit=200`;
  const headers = { authorization: `Bearer ${server.key}` };
  const response = await fetch(`${server.url}${path}`, { headers });
  const { items } = await response.json<{
    items: { header: { type: string }; payload: unknown }[];
  }>();
  return items.map(({ header, payload }) => ({ type: header.type, payload }));
}

describe("exported tools", () => {
  it("[P100] a call is a run whose every call crossed the gate, and no language model was asked", async () => {
    const created = await raw().modern("tools/call", {
      name: "slow_compute",
      arguments: { seconds: 0, label: "x" },
      capabilities: TASKS,
    });
    const [thread = ""] = String(created.result?.["taskId"]).split("~");
    const done = await raw().untilEnded(String(created.result?.["taskId"]));
    expect(done).toMatchObject({
      status: "completed",
      result: { content: [{ type: "text", text: "computed x" }] },
    });
    const events = await eventsOf(thread);
    expect(events.map(({ type }) => type).filter((type) => type.startsWith("tool."))).toEqual([
      "tool.started",
      "tool.finished",
    ]);
    const routes = events.flatMap(({ type, payload }) =>
      type === "model.requested" ? [(payload as { route: string }).route] : [],
    );
    expect(routes).toEqual(["embedded/plan/everything", "embedded/plan/everything"]);
  });

  it("[P100] arguments that do not fit run nothing", async () => {
    const refused = await raw().modern("tools/call", { name: "greet", arguments: { nme: "x" } });
    expect(refused.result).toMatchObject({ isError: true });
    expect(refused.result?.["structuredContent"]).toBeUndefined();
  });

  it("[P101] content other than text is given as it is, and the model's view of it holds no bytes", async () => {
    const mixed = await raw().modern("tools/call", { name: "test_multiple_content_types" });
    const content = mixed.result?.["content"] as { type: string; data?: string }[];
    expect(content.map(({ type }) => type)).toEqual(["text", "image", "resource"]);
    const listed = await raw().modern("tools/call", { name: "list_threads", arguments: {} });
    const { threads } = (listed.result?.["structuredContent"] ?? {}) as {
      threads?: { thread: string }[];
    };
    const events = await eventsOf(threads?.[0]?.thread ?? "");
    const finished = events.find(({ type }) => type === "tool.finished");
    const { result = { output: "" } } = (finished?.payload ?? {}) as {
      result?: { output: string };
    };
    const { output } = result;
    expect(output).toContain("[image image/png, ");
    expect(output).not.toContain(content[1]?.data);
  });
});

describe("questions to the client", () => {
  it("[P102] an older client is asked on the stream of its call, and its answer finds the run", async () => {
    const client = new Client({ name: "t", version: "1" }, { capabilities: { elicitation: {} } });
    const asked: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      asked.push(params.message);
      return { action: "accept", content: { decision: "approve" } };
    });
    const requestInit = { headers: { authorization: `Bearer ${server.key}` } };
    const endpoint = new URL(`${server.url}/mcp/obeys`);
    await client.connect(new StreamableHTTPClientTransport(endpoint, { requestInit }));
    const said = await client.callTool({
      name: "ask",
      arguments: { message: 'call refund {"order":9}' },
    });
    expect(asked).toEqual(['May refund run with {"order":9}?']);
    expect(said.content).toEqual([{ type: "text", text: "got refunded 9" }]);
    await client.close();
  });

  it("[P102] a client of 2026-07-28 gets what waits as input requests, and a denial is a denial", async () => {
    const capabilities = { elicitation: {} };
    const call = { name: "ask", arguments: { message: 'call refund {"order":8}' } };
    const first = await raw("obeys").modern("tools/call", { ...call, capabilities });
    expect(first.result).toMatchObject({ resultType: "input_required" });
    const { inputRequests, requestState } = first.result as {
      inputRequests: Record<string, { method: string }>;
      requestState: string;
    };
    const [key = ""] = Object.keys(inputRequests);
    expect(inputRequests[key]?.method).toBe("elicitation/create");
    const inputResponses = { [key]: { action: "decline" } };
    const second = await raw("obeys").modern("tools/call", {
      ...call,
      capabilities,
      inputResponses,
      requestState,
    });
    expect(JSON.stringify(second.result?.["content"])).toContain("denied");
  });

  it("[P102] a client that cannot ask is told what waits and which tool answers it", async () => {
    const said = await raw("obeys").modern("tools/call", {
      name: "ask",
      arguments: { message: 'call refund {"order":7}' },
    });
    expect(JSON.stringify(said.result?.["content"])).toContain("Decide with the tool answer");
    expect(said.result?.["structuredContent"]).toMatchObject({ status: "waiting" });
  });

  it("[P102] a state that was changed, or is another's, names nothing", async () => {
    const capabilities = { elicitation: {} };
    const name = "test_input_required_result_request_state";
    const first = await raw().modern("tools/call", { name, capabilities });
    const state = String(first.result?.["requestState"]);
    for (const requestState of [
      `${state}x`,
      "1~thr_0~run_0~1",
      "",
      state.replace("run_", "rum_"),
    ]) {
      const inputResponses = { confirm: accept({ ok: true }) };
      const again = { name, capabilities, inputResponses, requestState };
      const refused = await raw().modern("tools/call", again);
      expect([requestState, refused.error?.code]).toEqual([requestState, -32_602]);
    }
  });

  it("[P103] a prompt has its arguments, their completion, and what it asks its user before", async () => {
    const client = raw();
    const given = await client.modern("prompts/get", {
      name: "test_prompt_with_arguments",
      arguments: { arg1: "a", arg2: "b" },
    });
    expect(JSON.stringify(given.result)).toContain("arg1='a', arg2='b'");
    const completed = await client.modern("completion/complete", {
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
      argument: { name: "arg1", value: "pari" },
    });
    expect(completed.result?.["completion"]).toMatchObject({ values: ["paris"] });
    const name = "test_input_required_result_prompt";
    const capabilities = { elicitation: {} };
    const asks = await client.modern("prompts/get", { name, capabilities });
    expect(asks.result).toMatchObject({ resultType: "input_required" });
    const inputResponses = { user_context: accept({ context: "weather" }) };
    const told = await client.modern("prompts/get", { name, capabilities, inputResponses });
    expect(JSON.stringify(told.result)).toContain("Use this context: weather");
  });
});

describe("tasks", () => {
  it("[P104] a task is a run: asked for by anybody else it is nothing, and cancelled it ends", async () => {
    const created = await raw().modern("tools/call", {
      name: "slow_compute",
      arguments: { seconds: 100 },
      capabilities: TASKS,
    });
    const taskId = String(created.result?.["taskId"]);
    const other = new McpRaw(server.url, await server.mint("u-other"), "everything");
    const gone = await other.modern("tasks/get", { taskId, capabilities: TASKS });
    const missing = await other.modern("tasks/get", {
      taskId: "thr_0~run_0",
      capabilities: TASKS,
    });
    expect(gone.error).toEqual(missing.error);
    expect(gone.error?.code).toBe(-32_602);
    await other.modern("tasks/cancel", { taskId, capabilities: TASKS });
    const still = await raw().modern("tasks/get", { taskId, capabilities: TASKS });
    expect(still.result?.["status"]).toBe("working");
    await raw().modern("tasks/cancel", { taskId, capabilities: TASKS });
    expect(await raw().untilEnded(taskId)).toMatchObject({ status: "cancelled" });
  });

  it("[P104] revision 2025-11-25 has the same task in its own words", async () => {
    const session = await raw().initialize();
    const params = { name: "slow_compute", arguments: { seconds: 0 }, task: { ttl: 60_000 } };
    const created = await raw().older(session, "tools/call", params);
    const task = created.result?.["task"] as { taskId: string };
    expect(task).toMatchObject({ ttl: null, pollInterval: 1_000 });
    const { taskId } = task;
    const result = await raw().older(session, "tasks/result", { taskId });
    expect(result.result).toMatchObject({
      content: [{ type: "text", text: "computed " }],
      _meta: { "io.modelcontextprotocol/related-task": { taskId } },
    });
    const listed = await raw().older(session, "tasks/list", {});
    expect(JSON.stringify(listed.result)).toContain(taskId.split("~")[0]);
  });
});

describe("sessions and streams of older clients", () => {
  it("[P105] H09 a session is bound to its principal, and cannot be made up or ended", async () => {
    const session = await raw().initialize();
    const other = new McpRaw(server.url, await server.mint("u-other"), "everything");
    const statusOf = async (client: McpRaw, id: string): Promise<number> =>
      (await client.post(id, { jsonrpc: "2.0", id: 1, method: "tools/list" })).status;
    expect(await statusOf(raw(), session)).toBe(200);
    expect(await statusOf(other, session)).toBe(404);
    expect(await statusOf(raw("obeys"), session)).toBe(404);
    expect(await statusOf(raw(), `${session}x`)).toBe(404);
    expect((await raw().send("DELETE", session)).status).toBe(405);
  });

  it("[P106] H09 a stream goes on for its own principal after the last event, and for nobody else", async () => {
    const own = raw();
    const session = await own.initialize();
    const params = { name: "test_tool_with_logging", arguments: {} };
    const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
    const stream = await own.events(await own.post(session, message));
    expect(stream.map(({ data }) => data?.["method"] ?? data?.["id"] ?? "")).toEqual([
      "",
      ...Array.from({ length: 3 }, () => "notifications/message"),
      7,
    ]);
    // Exactly what came behind the first line, once, and with the call's own id.
    const resumed = await own.events(await own.send("GET", session, stream[1]?.id));
    expect(resumed.map(({ data }) => data)).toEqual(stream.slice(2).map(({ data }) => data));
    const other = new McpRaw(server.url, await server.mint("u-b"), "everything");
    const theirs = await other.initialize();
    const foreign = await other.send("GET", theirs, stream[1]?.id);
    const random = await other.send("GET", theirs, "tool.test_tool_with_logging~thr_0~msg_0~1~7");
    expect([foreign.status, random.status]).toEqual([404, 404]);
    expect(await foreign.text()).toBe(await random.text());
    expect((await other.send("GET", session, stream[1]?.id)).status).toBe(404);
  });

  it("[P106] progress and structured content are told behind a break as they are without one", async () => {
    const own = raw();
    const session = await own.initialize();
    const stream = async (name: string, args: object) => {
      const _meta = { progressToken: "of this call" };
      const params = { name, arguments: args, _meta };
      const message = { jsonrpc: "2.0", id: name, method: "tools/call", params };
      const whole = await own.events(await own.post(session, message));
      const resumed = await own.events(await own.send("GET", session, whole[0]?.id));
      expect(resumed.map(({ data }) => data)).toEqual(whole.slice(1).map(({ data }) => data));
      return resumed.map(({ data }) => data);
    };
    const told = await stream("test_tool_with_progress", {});
    expect(told.map((data) => data?.["method"] ?? data?.["id"])).toEqual([
      ...Array.from({ length: 3 }, () => "notifications/progress"),
      "test_tool_with_progress",
    ]);
    expect(told[0]).toMatchObject({ params: { progressToken: "of this call" } });
    const [answer] = await stream("structured_result", {});
    expect(answer).toMatchObject({ result: { structuredContent: { sum: 5 } } });
  });

  it("[P106] a stream goes on in a thread of more messages than a page holds", async () => {
    const path = `${server.url}/v1/agents/obeys/threads/long`;
    const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
    const say = (text: string): Promise<Response> =>
      fetch(`${path}/messages`, { method: "POST", headers, body: JSON.stringify({ text }) });
    // As many as may wait at a time, twice.
    for (let half = 0; half < 2; half += 1) {
      const sent = await Promise.all(Array.from({ length: 60 }, () => say("say x")));
      expect(sent.every(({ ok }) => ok)).toBe(true);
      const { run } = await sent.at(-1)!.json<{ run: string }>();
      await (await fetch(`${server.url}${run}/stream`, { headers })).text();
    }
    const own = raw("obeys");
    const session = await own.initialize();
    const params = { name: "ask", arguments: { thread: "long", message: "say last" } };
    const message = { jsonrpc: "2.0", id: 9, method: "tools/call", params };
    const whole = await own.events(await own.post(session, message));
    const resumed = await own.events(await own.send("GET", session, whole[0]?.id));
    expect(resumed.at(-1)?.data).toEqual(whole.at(-1)?.data);
    expect(JSON.stringify(resumed.at(-1)?.data)).toContain("last");
    const page = await fetch(`${path}/messages?limit=200`, { headers });
    expect((await page.json<{ next: unknown }>()).next).not.toBeNull();
  });

  it("[P106] a slow call sends its client away, and the result waits for it", async () => {
    const own = raw();
    const session = await own.initialize();
    const params = { name: "test_reconnection", arguments: {} };
    const message = { jsonrpc: "2.0", id: "seven", method: "tools/call", params };
    const [primed, ...none] = await own.events(await own.post(session, message));
    expect(none).toEqual([]);
    const [answer] = await own.events(await own.send("GET", session, primed?.id));
    expect(answer?.data).toMatchObject({
      id: "seven",
      result: { content: [{ type: "text", text: "Reconnection test completed" }] },
    });
  });
});
