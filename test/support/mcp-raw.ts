/** MCP as it is on the wire, of both generations: for what published clients do not show. */
import { z } from "zod";

export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const META = "io.modelcontextprotocol";

type Values = { readonly [name: string]: unknown };
export interface RawAnswer {
  readonly status: number;
  readonly result?: Values | undefined;
  readonly error?: { readonly code: number; readonly message: string } | undefined;
}
export interface RawEvent {
  readonly id: string;
  readonly data: Values | null;
}
const Answer = z.looseObject({
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
});

export class McpRaw {
  readonly #endpoint: string;
  readonly #authorization: string;

  constructor(url: string, key: string, agent: string) {
    this.#endpoint = `${url}/mcp/${agent}`;
    this.#authorization = `Bearer ${key}`;
  }

  /** Revision 2026-07-28: everything is in the request. */
  async modern(
    method: string,
    { capabilities = {}, ...params }: Values & { readonly capabilities?: object },
  ): Promise<RawAnswer> {
    const named = params["name"] ?? params["taskId"];
    const response = await fetch(this.#endpoint, {
      method: "POST",
      headers: {
        ...this.#headers,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(typeof named === "string" ? { "mcp-name": named } : {}),
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method,
        params: {
          ...params,
          _meta: {
            [`${META}/protocolVersion`]: "2026-07-28",
            [`${META}/clientInfo`]: { name: "raw", version: "1" },
            [`${META}/clientCapabilities`]: capabilities,
          },
        },
      }),
    });
    return this.#answer(response);
  }

  async untilEnded(taskId: string): Promise<Values> {
    const deadline = Date.now() + 20_000;
    for (;;) {
      const { result = {} } = await this.modern("tasks/get", { taskId, capabilities: TASKS });
      if (result["status"] !== "working" || Date.now() > deadline) return result;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Answers the session. */
  async initialize(capabilities: object = {}): Promise<string> {
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo };
    const response = await this.post(null, { jsonrpc: "2.0", id: 0, method: "initialize", params });
    await response.text();
    return response.headers.get("mcp-session-id") ?? "";
  }

  async older(session: string, method: string, params: Values): Promise<RawAnswer> {
    return this.#answer(await this.post(session, { jsonrpc: "2.0", id: 1, method, params }));
  }

  post(session: string | null, message: object): Promise<Response> {
    return fetch(this.#endpoint, {
      method: "POST",
      headers: { ...this.#headers, ...this.#older(session) },
      body: JSON.stringify(message),
    });
  }

  send(method: "GET" | "DELETE", session: string, lastEventId = ""): Promise<Response> {
    const resumed = lastEventId === "" ? {} : { "last-event-id": lastEventId };
    const headers = { ...this.#headers, ...this.#older(session), ...resumed };
    return fetch(this.#endpoint, { method, headers });
  }

  /** All of a stream, to its end. */
  async events(response: Response): Promise<readonly RawEvent[]> {
    const blocks = (await response.text()).split("\n\n");
    return blocks.flatMap((block): RawEvent[] => {
      const lines = block.split("\n");
      const id = lines.find((line) => line.startsWith("id: "))?.slice(4);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (id === undefined) return [];
      return [{ id, data: data ? (JSON.parse(data) as Values) : null }];
    });
  }

  async #answer(response: Response): Promise<RawAnswer> {
    const body = await response.text();
    const last = body.split("\n").findLast((line) => line.startsWith("data: "));
    return { status: response.status, ...Answer.parse(JSON.parse(last?.slice(6) ?? body)) };
  }

  get #headers() {
    return {
      authorization: this.#authorization,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
  }

  #older(session: string | null) {
    const version = { "mcp-protocol-version": "2025-11-25" };
    return session === null ? version : { ...version, "mcp-session-id": session };
  }
}
