/** Clients of the published Agents SDK against a real server: tickets, raw sockets, and React hooks without a browser. */
import { AgentClient } from "agents/client";
import { useAgentChat } from "agents/chat/react";
import { useAgent } from "agents/react";
import { Window } from "happy-dom";
import { createElement, Suspense, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import WebSocket from "ws";

// React renders into a document; sockets and fetch stay Node's own.
const window = new Window({ url: "http://localhost/" });
Object.assign(globalThis, { window, document: window.document });

export interface Place {
  readonly url: string;
  readonly key: string;
  readonly thread: string;
}
export type Frame = { readonly type: string; readonly [field: string]: unknown };

export const AGENT = "obeys";

export async function issueTicket({ url, key, thread }: Place): Promise<string> {
  const response = await fetch(`${url}/v1/tickets`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ agent: AGENT, thread }),
  });
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
  const { ticket }: { readonly ticket: string } = await response.json();
  return ticket;
}

/** The published client, with a ticket. */
export async function openClient(
  place: Place,
  options: Partial<ConstructorParameters<typeof AgentClient>[0]> = {},
): Promise<AgentClient> {
  return new AgentClient({
    host: new URL(place.url).host,
    protocol: "ws",
    agent: AGENT,
    name: place.thread,
    query: async () => ({ ticket: await issueTicket(place) }),
    WebSocket,
    ...options,
  });
}

/** A bare socket, for frames that no client sends. */
export class RawSocket {
  readonly frames: Frame[] = [];
  readonly socket: WebSocket;
  closed: number | null = null;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => this.frames.push(JSON.parse(String(data)) as Frame));
    socket.on("close", (code) => (this.closed = code));
    socket.on("error", () => undefined);
  }

  static async open(place: Place): Promise<RawSocket> {
    const ticket = await issueTicket(place);
    const url = `${place.url.replace("http", "ws")}/agents/${AGENT}/${place.thread}?ticket=${ticket}`;
    const socket = new RawSocket(new WebSocket(url));
    await new Promise((resolve, reject) => {
      socket.socket.once("open", resolve);
      socket.socket.once("error", reject);
    });
    return socket;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }
  of(type: string): readonly Frame[] {
    return this.frames.filter((frame) => frame.type === type);
  }
  close(): void {
    this.socket.close();
  }
}

/** Status of an upgrade, 101 included. */
export function upgradeStatus(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url.replace("http", "ws"), { headers });
    socket.on("open", () => {
      resolve(101);
      socket.close();
    });
    socket.on("unexpected-response", (_request, response) => {
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
    socket.on("error", () => undefined);
  });
}

type ChatOptions = Omit<Parameters<typeof useAgentChat>[0], "agent" | "getInitialMessages">;
export type ChatState = ReturnType<typeof useAgentChat>;

/** One tab: `useAgent` and `useAgentChat` as a page uses them. */
export class ChatTab {
  readonly #id = crypto.randomUUID();
  #state: ChatState | null = null;
  #agent: { readonly identified: boolean; close(): void } | null = null;
  readonly #root: ReturnType<typeof createRoot>;

  constructor(place: Place, options: ChatOptions = {}) {
    const query = async (): Promise<{ ticket: string }> => ({ ticket: await issueTicket(place) });
    const Chat = (): ReactNode => {
      const agent = useAgent({
        host: new URL(place.url).host,
        protocol: "ws",
        agent: AGENT,
        name: place.thread,
        query,
        // Tickets are cached per page; these tabs share one.
        queryDeps: [this.#id],
        WebSocket,
      });
      // The two hooks' own types do not meet under exactOptionalPropertyTypes.
      const state = useAgentChat({
        agent: agent as never,
        headers: { authorization: `Bearer ${place.key}` },
        throttle: false,
        ...options,
      } as never);
      this.#agent = agent;
      this.#state = state;
      return null;
    };
    this.#root = createRoot(window.document.createElement("div") as never);
    this.#root.render(createElement(Suspense, { fallback: null }, createElement(Chat)));
  }

  get chat(): ChatState {
    if (this.#state === null) throw new Error("not rendered yet");
    return this.#state;
  }
  /** `role: text` of each message; tool parts as `[tool state]`. */
  get shown(): readonly string[] {
    return (this.#state?.messages ?? []).map(
      ({ role, parts }) => `${role}: ${parts.map((part) => show(part)).join("")}`,
    );
  }
  get isReady(): boolean {
    return this.#agent?.identified === true && this.#state !== null;
  }
  close(): void {
    this.#agent?.close();
    this.#root.unmount();
  }
}

function show(part: { readonly type: string; readonly [field: string]: unknown }): string {
  if (part.type === "text") return String(part["text"]);
  return part.type.startsWith("tool-") ? `[${part.type.slice(5)} ${String(part["state"])}]` : "";
}
