/**
 * One run over each protocol, from its first byte to its end, by the least client that the protocol allows: what the server
 * does is to be measured, not the client. Each resolves once its end was read.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import WebSocket from "ws";

const AGENT = "bench";

/** Reads a body to its end, and answers its last characters. */
async function drain(response) {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const decoder = new TextDecoder();
  let tail = "";
  for await (const chunk of response.body)
    tail = (tail + decoder.decode(chunk, { stream: true })).slice(-4_000);
  return tail;
}

function post({ url, headers }, path, body, more = {}) {
  const init = { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) };
  return fetch(url + path, init);
}

function expectEnd(tail, word) {
  if (!tail.includes(word)) throw new Error(`it did not end with ${word}: ${tail.slice(-500)}`);
}

async function rest(server, { thread, text }) {
  const path = `/v1/agents/${AGENT}/threads/${thread}/messages`;
  const response = await post(server, path, { text }, { accept: "text/event-stream" });
  expectEnd(await drain(response), "run.completed");
}

async function responses(server, { text }) {
  const body = { model: AGENT, input: text, stream: true };
  expectEnd(await drain(await post(server, "/openai/v1/responses", body)), "response.completed");
}

async function agUi(server, { thread, text }) {
  const body = {
    threadId: thread,
    runId: `r-${thread}`,
    messages: [{ id: "m1", role: "user", content: text }],
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
  };
  expectEnd(await drain(await post(server, `/ag-ui/${AGENT}`, body)), '"type":"success"');
}

function webSocket({ url, key }, { thread, text }) {
  const address = `${url.replace("http", "ws")}/agents/${AGENT}/${thread}`;
  const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text }] }];
  const init = { method: "POST", body: JSON.stringify({ messages }) };
  return new Promise((settle, fail) => {
    const socket = new WebSocket(address, {
      headers: { authorization: `Bearer ${key}` },
      perMessageDeflate: false,
    });
    socket.on("open", () =>
      socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id: "r1", init })),
    );
    socket.on("message", (data) => {
      // Looked at as text: parsing each frame would be the client's own cost.
      if (!data.includes('"done":true')) return;
      socket.close();
      settle();
    });
    socket.on("error", fail);
  });
}

async function mcp({ url, key }, { text }) {
  const client = new Client({ name: "bench", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp/${AGENT}`), { requestInit }),
  );
  const call = { name: "ask", arguments: { message: text } };
  const answer = await client.callTool(call, { onprogress: () => undefined });
  await client.close();
  if (answer.structuredContent?.status !== "completed") throw new Error(JSON.stringify(answer));
}

export const CONTENDERS = { rest, webSocket, responses, agUi, mcp };
