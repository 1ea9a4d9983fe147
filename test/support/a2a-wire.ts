/** A2A over both bindings inside the Worker's own isolate: one request, and a subscription read as it comes. */
import type { Json, JsonObject } from "#shared/json.ts";
import type { Api } from "./api.ts";

export const NOT_FOUND = -32_001;
export const UNSUPPORTED = -32_004;

export interface Operation {
  readonly method: string;
  readonly params: JsonObject;
  readonly agent: string;
}
export type Binding = "JSON-RPC" | "HTTP+JSON";
export const BINDINGS: readonly Binding[] = ["JSON-RPC", "HTTP+JSON"];

function toHttp({ method, params }: Operation): { verb: string; path: string; body?: Json } {
  const { id = "", taskId = "" } = params;
  switch (method) {
    case "SendStreamingMessage":
      return { verb: "POST", path: "/message:stream", body: params };
    case "SendMessage":
      return { verb: "POST", path: "/message:send", body: params };
    case "SubscribeToTask":
      return { verb: "GET", path: `/tasks/${String(id)}:subscribe` };
    case "CancelTask":
      return { verb: "POST", path: `/tasks/${String(id)}:cancel`, body: {} };
    case "CreateTaskPushNotificationConfig":
      return {
        verb: "POST",
        path: `/tasks/${String(taskId)}/pushNotificationConfigs`,
        body: params,
      };
    case "ListTaskPushNotificationConfigs":
      return { verb: "GET", path: `/tasks/${String(taskId)}/pushNotificationConfigs` };
    case "GetTaskPushNotificationConfig":
      return {
        verb: "GET",
        path: `/tasks/${String(taskId)}/pushNotificationConfigs/${String(id)}`,
      };
    case "DeleteTaskPushNotificationConfig":
      return {
        verb: "DELETE",
        path: `/tasks/${String(taskId)}/pushNotificationConfigs/${String(id)}`,
      };
    default:
      return { verb: "GET", path: `/tasks/${String(id)}` };
  }
}

export function openA2a(api: Api, binding: Binding, operation: Operation): Promise<Response> {
  const { agent, method, params } = operation;
  const { verb, path, body } =
    binding === "JSON-RPC"
      ? { verb: "POST", path: "", body: { jsonrpc: "2.0", id: 1, method, params } }
      : toHttp(operation);
  const headers = { "a2a-version": "1.0", "content-type": "application/json" };
  const init = body === undefined ? { headers } : { headers, body: JSON.stringify(body) };
  return api.fetch(verb, `/a2a/${agent}${path}`, init);
}

export interface Answer {
  readonly type: string | null;
  readonly status: number;
  /** The code of JSON-RPC, or what stands for it over HTTP. */
  readonly code: number | null;
  readonly body: JsonObject;
}
const CODES: Readonly<Record<string, number>> = {
  TASK_NOT_FOUND: NOT_FOUND,
  UNSUPPORTED_OPERATION: UNSUPPORTED,
};

export async function callA2a(api: Api, binding: Binding, operation: Operation): Promise<Answer> {
  const response = await openA2a(api, binding, operation);
  const body = await response.json<JsonObject>();
  const error = body["error"] as
    | { readonly code: number; readonly details?: readonly { readonly reason?: string }[] }
    | undefined;
  const reason = error?.details?.[0]?.reason ?? "";
  return {
    type: response.headers.get("content-type"),
    status: response.status,
    code: error === undefined ? null : (CODES[reason] ?? error.code),
    body: (body["result"] as JsonObject | undefined) ?? body,
  };
}

export interface TaskView {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
}
export interface Update {
  readonly task?: TaskView;
  readonly statusUpdate?: { readonly taskId: string; readonly status: { readonly state: string } };
  readonly artifactUpdate?: JsonObject;
}
/** A subscription, read as it comes. */
export class Subscription {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #rest = "";

  constructor(response: Response) {
    this.response = response;
    this.#reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  static async to(
    api: Api,
    binding: Binding,
    { id, agent }: { readonly id: string; readonly agent: string },
  ): Promise<Subscription> {
    const operation = { method: "SubscribeToTask", params: { id }, agent };
    return new Subscription(await openA2a(api, binding, operation));
  }

  /** Null at the end. */
  async next(): Promise<Update | null> {
    for (;;) {
      const end = this.#rest.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 2);
        if (!block.startsWith("data: ")) continue;
        const data = JSON.parse(block.slice(6)) as Update & { readonly result?: Update };
        return data.result ?? data;
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#rest += value;
    }
  }

  async rest(): Promise<readonly Update[]> {
    const all: Update[] = [];
    for (let next = await this.next(); next !== null; next = await this.next()) all.push(next);
    return all;
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }
}
export const stateOf = ({ task, statusUpdate }: Update): string | undefined =>
  (task ?? statusUpdate)?.status.state;
