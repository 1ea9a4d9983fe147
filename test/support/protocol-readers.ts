/**
 * One reader for each protocol's streams: it asks `obeys` for a slow answer, keeps what it is told, and comes back by the
 * protocol's own means whenever its connection is lost, until the run has ended. What is told twice is kept twice.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import OpenAI from "openai";
import { WebSocket } from "ws";
import { Holdfast } from "#client/client.ts";
import { SseParser } from "#client/sse.ts";

export interface Told {
  /** Ids of what was told, in the order in which it came. */
  readonly ids: number[];
  /** The answer as its reader has it: without what was declared void. */
  text: string;
  /** What is told on the way where the answer itself comes only as a whole. */
  readonly progress: string[];
  connections: number;
  ended: string | null;
}
export interface Place {
  readonly url: string;
  readonly key: string;
}
type Reader = (place: Place, question: string, told: Told) => Promise<void>;

const KNOCK_MS = 100;
const AGENT = "obeys";
export const nothingTold = (): Told => ({
  ids: [],
  text: "",
  progress: [],
  connections: 0,
  ended: null,
});

/** Again and again until the work says that it is over; a lost connection is one more time. */
async function persist(work: () => Promise<boolean>): Promise<void> {
  for (;;) {
    if (await work().catch(() => false)) return;
    await pause(KNOCK_MS);
  }
}

const rest: Reader = async ({ url, key }, question, told) => {
  const counting = (input: string, init: RequestInit): Promise<Response> => {
    if (input.includes("/events")) told.connections += 1;
    return fetch(input, init);
  };
  const retry = { attempts: Infinity, maxDelayMs: KNOCK_MS };
  const thread = new Holdfast({ url, key, retry, fetch: counting }).agent(AGENT).thread();
  const run = await thread.send(question);
  for await (const item of run.stream()) {
    if (item.type === "delta") told.text += item.text;
    if (item.type === "discard") told.text = "";
    if ("header" in item) told.ids.push(item.header.seq);
    if (item.type.startsWith("run.")) told.ended = item.type;
  }
};

/** `starting_after` of the Responses API. */
const responses: Reader = async ({ url, key }, question, told) => {
  const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: key, maxRetries: 0 });
  let id: string | null = null;
  const read = async (events: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>) => {
    told.connections += 1;
    for await (const event of events) {
      if (event.type === "error") return false;
      told.ids.push(event.sequence_number);
      if (event.type === "response.created") ({ id } = event.response);
      if (event.type === "response.output_text.delta") told.text += event.delta;
      // An item that is closed as incomplete is void, and another takes its place.
      if (event.type === "response.output_item.done" && event.item.type === "message")
        if (event.item.status === "incomplete") told.text = "";
      if (event.type === "response.completed") told.ended = event.response.output_text;
    }
    return told.ended !== null;
  };
  await persist(async () => {
    const options = { stream: true, starting_after: told.ids.at(-1) ?? -1 } as const;
    const begin = { model: AGENT, input: question, stream: true, background: true } as const;
    return read(
      id === null
        ? await client.responses.create(begin)
        : await client.responses.retrieve(id, options),
    );
  });
};

/** Chat Completions cannot go on: the same request with its key meets the run that it made, and tells it again. */
const chat: Reader = async ({ url, key }, question, told) => {
  const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: key, maxRetries: 0 });
  const headers = { "idempotency-key": `chat-${question}` };
  const messages = [{ role: "user" as const, content: question }];
  await persist(async () => {
    told.text = "";
    const stream = await client.chat.completions.create(
      { model: AGENT, messages, stream: true },
      { headers },
    );
    told.connections += 1;
    for await (const { choices } of stream) {
      told.text += choices[0]?.delta.content ?? "";
      told.ended = choices[0]?.finish_reason ?? null;
    }
    return told.ended !== null;
  });
};

/** `Last-Event-ID` behind the place that the answer's headers name. */
const agUi: Reader = async ({ url, key }, question, told) => {
  const authorization = `Bearer ${key}`;
  const threadId = `ag-ui-${question.replaceAll(" ", "-")}`;
  let run: string | null = null;
  const open = (): Promise<Response> => {
    if (run === null) {
      const messages = [{ id: "m1", role: "user", content: question }];
      const body = { threadId, runId: "r1", messages, tools: [], context: [], forwardedProps: {} };
      const headers = { authorization, "content-type": "application/json" };
      return fetch(`${url}/ag-ui/${AGENT}`, {
        method: "POST",
        headers,
        body: JSON.stringify({ ...body, state: {} }),
      });
    }
    const headers = { authorization, "last-event-id": `${run}.${told.ids.at(-1) ?? -1}` };
    return fetch(`${url}/ag-ui/${AGENT}/${threadId}/runs/${run}`, { headers });
  };
  await persist(async () => {
    const response = await open();
    if (!response.ok) return false;
    run = response.headers.get("x-holdfast-run");
    told.connections += 1;
    const parser = new SseParser();
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream()))
      for (const { id, data } of parser.push(chunk)) {
        const event = JSON.parse(data) as { type: string; delta?: string; code?: string };
        if (event.code === "stream_incomplete") return false;
        told.ids.push(Number(id?.split(".")[1]));
        if (event.type === "TEXT_MESSAGE_CONTENT") told.text += event.delta ?? "";
        if (event.type === "CUSTOM") told.text = "";
        if (event.type === "RUN_FINISHED") told.ended = event.type;
      }
    return told.ended !== null;
  });
};

/** What is read of an update of A2A, in either binding. */
interface A2aUpdate {
  readonly task?: {
    readonly id: string;
    readonly status: { readonly state: string };
    readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
  };
  readonly artifactUpdate?: {
    readonly append?: boolean;
    readonly artifact: { readonly parts: readonly { readonly text?: string }[] };
  };
  readonly statusUpdate?: { readonly status: { readonly state: string } };
}
const DONE = "TASK_STATE_COMPLETED";

/** Subscribes to the task again, or sends the same message where no task was told yet. */
function a2a(
  send: (place: Place, task: string | null, message: object) => Promise<Response>,
): Reader {
  return async (place, question, told) => {
    let task: string | null = null;
    const message = {
      messageId: crypto.randomUUID(),
      role: "ROLE_USER",
      parts: [{ text: question }],
    };
    const textOf = (parts: readonly { readonly text?: string }[] = []): string =>
      parts.map(({ text = "" }) => text).join("");
    const take = ({ task: whole, artifactUpdate, statusUpdate }: A2aUpdate): void => {
      if (whole !== undefined) {
        task = whole.id;
        told.text = textOf(whole.artifacts?.[0]?.parts);
      }
      if (artifactUpdate !== undefined) {
        const before = artifactUpdate.append === true ? told.text : "";
        told.text = before + textOf(artifactUpdate.artifact.parts);
      }
      const { state } = whole?.status ?? statusUpdate?.status ?? {};
      if (state === DONE) told.ended = DONE;
    };
    await persist(async () => {
      const response = await send(place, task, message);
      // A task that ended while nobody was there takes no subscription: it is got.
      if (response.headers.get("content-type")?.includes("event-stream") !== true) {
        const got = await fetch(`${place.url}/a2a/${AGENT}/tasks/${task}`, {
          headers: { authorization: `Bearer ${place.key}`, "a2a-version": "1.0" },
        });
        if (got.ok) take({ task: await got.json<NonNullable<A2aUpdate["task"]>>() });
        return told.ended !== null;
      }
      told.connections += 1;
      const parser = new SseParser();
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream()))
        for (const { data } of parser.push(chunk)) {
          const event = JSON.parse(data) as A2aUpdate & { result?: A2aUpdate };
          take(event.result ?? event);
        }
      return told.ended !== null;
    });
  };
}

const a2aRpc = a2a(({ url, key }, id, message) => {
  const call = id === null ? ["SendStreamingMessage", { message }] : ["SubscribeToTask", { id }];
  const [method, params] = call;
  return fetch(`${url}/a2a/${AGENT}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "a2a-version": "1.0",
      "content-type": "application/json",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
});

const a2aHttp = a2a(({ url, key }, task, message) => {
  const headers = { authorization: `Bearer ${key}`, "a2a-version": "1.0" };
  const base = `${url}/a2a/${AGENT}`;
  if (task !== null) return fetch(`${base}/tasks/${task}:subscribe`, { headers });
  return fetch(`${base}/message:stream`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ message }),
  });
});

interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly body?: string;
  readonly done?: boolean;
  readonly outcome?: string;
}

/** A socket that comes back is offered the stream, without asking, and takes it up from its beginning. */
const webSocket: Reader = async ({ url, key }, question, told) => {
  const address = `${url.replace("http", "ws")}/agents/${AGENT}/ws-${question.replaceAll(" ", "-")}`;
  const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: question }] }];
  const ask = { type: "cf_agent_use_chat_request", id: "r1" };
  let asked = false;
  await persist(
    () =>
      new Promise((settle) => {
        const socket = new WebSocket(address, { headers: { authorization: `Bearer ${key}` } });
        const send = (frame: object): void => socket.send(JSON.stringify(frame));
        const take = (frame: Frame): void => {
          if (frame.type === "cf_agent_stream_resuming")
            send({ type: "cf_agent_stream_resume_ack", id: frame.id });
          if (frame.type !== "cf_agent_use_chat_response") return;
          const chunk = JSON.parse(frame.body || "{}") as { type?: string; delta?: string };
          // A message begins: what was shown of it is replaced.
          if (chunk.type === "start") told.text = "";
          if (chunk.type === "text-delta") told.text += chunk.delta ?? "";
          if (frame.done === true && frame.outcome === "completed") {
            told.ended = frame.outcome;
            socket.close();
          }
        };
        socket.on("open", () => {
          told.connections += 1;
          if (!asked)
            send({ ...ask, init: { method: "POST", body: JSON.stringify({ messages }) } });
          asked = true;
        });
        socket.on("message", (data) => take(JSON.parse(String(data)) as Frame));
        socket.on("error", () => undefined);
        socket.on("close", () => settle(told.ended !== null));
      }),
  );
};

/** The published client comes back by itself, with `Last-Event-ID`. A step that calls a tool is told as progress. */
const mcp: Reader = async ({ url, key }, question, told) => {
  const counting = (input: string | URL, init?: RequestInit): Promise<Response> => {
    if (
      new Headers(init?.headers).has("last-event-id") ||
      String(init?.body).includes("tools/call")
    )
      told.connections += 1;
    return fetch(input, init);
  };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp/${AGENT}`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
    fetch: counting,
    reconnectionOptions: {
      initialReconnectionDelay: KNOCK_MS,
      maxReconnectionDelay: KNOCK_MS,
      reconnectionDelayGrowFactor: 1,
      maxRetries: Infinity,
    },
  });
  const client = new Client({ name: "reader", version: "1" });
  await client.connect(transport);
  const message = `then ${question.replace(/\D/g, "")} call add {"a":2,"b":3}`;
  const { content } = await client.callTool({ name: "ask", arguments: { message } }, undefined, {
    timeout: 600_000,
    onprogress: (progress) => void told.progress.push(progress.message ?? ""),
    // kind, thread, message, seq, request
    onresumptiontoken: (id) => void told.ids.push(Number(id.split("~")[3])),
  });
  const [first] = content as readonly { readonly text: string }[];
  told.text = first?.text ?? "";
  told.ended = "result";
  await client.close();
};

export const READERS: Readonly<Record<string, Reader>> = {
  "REST/SSE": rest,
  "OpenAI Responses": responses,
  "OpenAI Chat Completions": chat,
  "AG-UI": agUi,
  WebSocket: webSocket,
  "A2A JSON-RPC": a2aRpc,
  "A2A HTTP+JSON": a2aHttp,
  MCP: mcp,
};
