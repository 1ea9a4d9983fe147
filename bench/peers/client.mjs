/**
 * One chat over the socket protocol of the Agents SDK, by its own client (`AgentClient`), for every contender alike. Counts
 * what goes over the socket in both directions, as message bytes.
 */
import { AgentClient } from "agents/client";
import WebSocket from "ws";

const RUN_TIMEOUT_MS = 120_000;

export class Chat {
  bytes = { sent: 0, received: 0, frames: 0 };
  /** Types of frames and of chunks within them, to see where bytes go. */
  kinds = new Map();
  results = 0;
  text = "";
  connections = 0;
  #client;
  #waiting = null;
  #opened;

  constructor({ port, contender, thread, seen }) {
    const chat = this;
    this.seen = seen ?? (() => undefined);
    class CountingSocket extends WebSocket {
      constructor(url, protocols) {
        super(url, protocols, { perMessageDeflate: false });
        this.on("message", (data) => {
          chat.bytes.received += data.length;
          chat.bytes.frames += 1;
        });
      }
      send(data, ...rest) {
        chat.bytes.sent += Buffer.byteLength(data);
        chat.bytes.frames += 1;
        super.send(data, ...rest);
      }
    }
    this.#client = new AgentClient({
      host: `127.0.0.1:${port}`,
      agent: contender,
      name: thread,
      WebSocket: CountingSocket,
      // A client that is waiting for its server: the library's own pause is seconds, and random.
      minReconnectionDelay: 10,
      maxReconnectionDelay: 10,
      reconnectionDelayGrowFactor: 1,
    });
    this.#opened = new Promise((resolve) => {
      this.#client.addEventListener("open", () => {
        this.connections += 1;
        resolve();
        // What `useAgentChat` asks for each time it connects.
        if (this.#waiting !== null || this.connections > 1)
          this.#send({ type: "cf_agent_stream_resume_request" });
      });
    });
    this.#client.addEventListener("message", ({ data }) => this.#take(String(data)));
    this.#client.addEventListener("error", () => undefined);
  }

  /** Open and identified. */
  async ready() {
    await this.#opened;
    await this.#client.ready;
  }

  /** Sends one message and resolves at the frame that ends its answer. */
  run(script) {
    const id = crypto.randomUUID();
    const message = {
      id: `m-${id}`,
      role: "user",
      parts: [{ type: "text", text: JSON.stringify(script) }],
    };
    this.bytes = { sent: 0, received: 0, frames: 0 };
    this.kinds = new Map();
    this.results = 0;
    this.text = "";
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the run has no end")), RUN_TIMEOUT_MS);
      this.#waiting = {
        id,
        end: (outcome) => {
          clearTimeout(timer);
          this.#waiting = null;
          resolve(outcome);
        },
      };
      const body = JSON.stringify({ messages: [message], trigger: "submit-message" });
      this.#send({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } });
    });
  }

  close() {
    this.#client.close();
  }

  #send(frame) {
    this.#client.send(JSON.stringify(frame));
  }

  #take(data) {
    const frame = JSON.parse(data);
    this.#count(frame.type, data.length);
    this.seen(frame);
    if (frame.type === "cf_agent_stream_resuming") {
      // The stream of our own request needs no replay to be read; after a kill it does.
      if (this.connections > 1) this.#send({ type: "cf_agent_stream_resume_ack", id: frame.id });
    } else if (frame.type === "cf_agent_use_chat_response") this.#response(frame);
  }

  #response(frame) {
    if (frame.body !== "" && frame.error !== true) {
      const chunk = JSON.parse(frame.body);
      this.#count(`  ${chunk.type}`, frame.body.length);
      if (chunk.type === "tool-output-available") this.results += 1;
      if (chunk.type === "text-delta") this.text += chunk.delta;
    }
    if (frame.done) this.#waiting?.end(frame.error === true ? frame.body : "done");
  }

  #count(kind, bytes) {
    const [frames, total] = this.kinds.get(kind) ?? [0, 0];
    this.kinds.set(kind, [frames + 1, total + bytes]);
  }
}
