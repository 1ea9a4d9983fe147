/** SocketClient: a bare socket of the Agents SDK's protocol inside workerd, through the public way in. */
import { exports } from "cloudflare:workers";
import type { Api } from "./api.ts";

export interface SocketFrame {
  readonly type: string;
  readonly [field: string]: unknown;
}
interface Part {
  readonly type?: string;
  readonly delta?: string;
}

export class SocketClient {
  readonly frames: SocketFrame[] = [];
  /** Codes of closes. */
  readonly closed: number[] = [];
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      this.frames.push(JSON.parse(String(data)));
    });
    socket.addEventListener("close", ({ code }) => {
      this.closed.push(code);
    });
    socket.accept();
  }

  static async open(by: Pick<Api, "key">, agent: string, thread: string): Promise<SocketClient> {
    const response = await SocketClient.upgrade(by, agent, thread);
    if (response.webSocket === null)
      throw new Error(`${response.status}: ${await response.text()}`);
    return new SocketClient(response.webSocket);
  }

  static upgrade(by: Pick<Api, "key">, agent: string, thread: string): Promise<Response> {
    const worker = exports as unknown as {
      readonly default: { fetch(url: string, init: RequestInit): Promise<Response> };
    };
    return worker.default.fetch(`https://holdfast.test/agents/${agent}/${thread}`, {
      headers: { upgrade: "websocket", authorization: `Bearer ${by.key}` },
    });
  }

  send(frame: { readonly type: string; readonly [field: string]: unknown }): void {
    this.#socket.send(JSON.stringify(frame));
  }
  ask(requestId: string, text: string, messageId = `m-${requestId}`): void {
    const messages = [{ id: messageId, role: "user", parts: [{ type: "text", text }] }];
    this.send({
      type: "cf_agent_use_chat_request",
      id: requestId,
      init: { body: JSON.stringify({ messages }) },
    });
  }
  of(type: string): readonly SocketFrame[] {
    return this.frames.filter((frame) => frame.type === type);
  }
  /** Frames of one stream. */
  stream(id: string): readonly SocketFrame[] {
    return this.of("cf_agent_use_chat_response").filter((frame) => frame["id"] === id);
  }
  /** Its text, as far as it came. */
  text(id: string): string {
    return this.stream(id)
      .map(({ body }): Part => (typeof body === "string" && body !== "" ? JSON.parse(body) : {}))
      .map(({ type, delta = "" }) => (type === "text-delta" ? delta : ""))
      .join("");
  }
  close(): void {
    this.#socket.close();
  }
}
