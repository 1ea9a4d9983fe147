/** The published A2A client against the Worker under test, and requests by hand where a test needs the wire. */
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from "@a2a-js/sdk/client";
import { SendMessageRequest, type Message, type StreamResponse, type Task } from "@a2a-js/sdk";
import type { Json, JsonObject } from "#shared/json.ts";

export type Binding = "JSONRPC" | "HTTP+JSON";
export const BINDINGS: readonly Binding[] = ["JSONRPC", "HTTP+JSON"];

export function a2aClient(
  { url, key }: { readonly url: string; readonly key: string },
  binding: Binding,
  agent = "obeys",
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [
        binding === "JSONRPC"
          ? new JsonRpcTransportFactory({ fetchImpl })
          : new RestTransportFactory({ fetchImpl }),
      ],
      preferredTransports: [binding],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
  return factory.createFromUrl(`${url}/a2a/${agent}/.well-known/agent-card.json`, "");
}

/** What a client sends; ids of tasks and contexts where it has them. */
export function toRequest(
  text: string,
  more: { readonly taskId?: string; readonly contextId?: string; readonly messageId?: string } = {},
  configuration: JsonObject = {},
): SendMessageRequest {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
  return SendMessageRequest.fromJSON({ message, configuration });
}

/** As a client that follows the protocol puts a task together from its updates. */
export class Follower {
  readonly texts = new Map<string, string>();
  readonly states: string[] = [];
  task: Task | null = null;

  take(update: StreamResponse): void {
    const { payload } = update;
    if (payload?.$case === "task") {
      this.task = payload.value;
      this.states.push(`task ${payload.value.status?.state}`);
      for (const { artifactId, parts } of payload.value.artifacts)
        this.texts.set(artifactId, textOf(parts));
    } else if (payload?.$case === "statusUpdate")
      this.states.push(`${payload.value.status?.state}`);
    else if (payload?.$case === "artifactUpdate") {
      const { artifact, append } = payload.value;
      if (artifact === undefined) return;
      const before = append ? (this.texts.get(artifact.artifactId) ?? "") : "";
      this.texts.set(artifact.artifactId, before + textOf(artifact.parts));
    }
  }
}

export function textOf(parts: Message["parts"]): string {
  return parts
    .map(({ content }) =>
      content?.$case === "text" ? content.value : JSON.stringify(content?.value),
    )
    .join("");
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: JsonObject;
}

/** One request by hand. */
export async function request(
  { url, key }: { readonly url: string; readonly key: string },
  path: string,
  init: { method?: string; body?: Json; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { method = "GET", body, headers = {} } = init;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      "a2a-version": "1.0",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const type = response.headers.get("content-type") ?? "";
  const text = await response.text();
  const isJson = type.includes("json") && text !== "";
  return { status: response.status, type, body: isJson ? (JSON.parse(text) as JsonObject) : {} };
}
