/**
 * A provider of the Chat Completions API on 127.0.0.1: plays one scripted reply a request, records what it was sent,
 * and refuses histories that real providers refuse, so that an invalid prompt fails a test instead of passing.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json, JsonObject } from "#shared/json.ts";
import { chatHistoryProblem } from "./provider-shapes/chat-history.ts";

export type Frame =
  | { readonly text: string }
  | { readonly reasoning: string }
  /** `args` is sent as it is, valid JSON or not, cut into two deltas. */
  | { readonly call: { readonly id: string; readonly name: string; readonly args: string } }
  | { readonly finish: string }
  | { readonly usage: { readonly input: number; readonly output: number } }
  /** An error object inside a stream that began with status 200. */
  | { readonly error: JsonObject }
  /** Bytes of the stream as they are. */
  | { readonly raw: string }
  /** The stream stays open without a byte until the client leaves. */
  | { readonly hang: true }
  /** The connection is reset instead of ended. */
  | { readonly reset: true };

export type Reply =
  | { readonly frames: readonly Frame[]; readonly done?: boolean }
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: Json;
    };

export interface ProviderRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

export interface ProviderStub extends AsyncDisposable {
  readonly baseUrl: string;
  readonly requests: readonly ProviderRequest[];
  /** Requests that were answered 400 because their history is invalid. */
  readonly refused: readonly string[];
  /** Requests whose connection the client closed before the reply ended. */
  abandoned(): number;
  /** Replies are played in order; the last one is played again for further requests. */
  play(...replies: readonly Reply[]): void;
}

export async function startProviderStub(): Promise<ProviderStub> {
  const requests: ProviderRequest[] = [];
  const refused: string[] = [];
  let replies: readonly Reply[] = [];
  let abandoned = 0;
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => void chunks.push(chunk));
    response.on("close", () => (abandoned += response.writableFinished ? 0 : 1));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonObject;
      requests.push({ headers: request.headers, body });
      const problem = chatHistoryProblem(body["messages"] ?? null);
      if (problem !== null) {
        refused.push(problem);
        sendJson(response, 400, { error: { message: problem, type: "invalid_request_error" } });
        return;
      }
      const reply = replies[Math.min(requests.length, replies.length) - 1];
      if (reply === undefined)
        sendJson(response, 500, { error: { message: "no reply was scripted" } });
      else if ("status" in reply) sendJson(response, reply.status, reply.body ?? {}, reply.headers);
      else sendStream(response, reply);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    refused,
    abandoned: () => abandoned,
    play(...next) {
      replies = [...requests.map(() => ({ frames: [] })), ...next];
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: Json,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function sendStream(
  response: ServerResponse,
  { frames, done = true }: Extract<Reply, { frames: readonly Frame[] }>,
): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  let calls = 0;
  for (const frame of frames) {
    if ("raw" in frame) response.write(frame.raw);
    else if ("hang" in frame) return;
    else if ("reset" in frame) {
      setImmediate(() => response.destroy());
      return;
    } else
      for (const chunk of toChunks(frame, calls))
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if ("call" in frame) calls += 1;
  }
  response.end(done && !frames.some((frame) => "raw" in frame) ? "data: [DONE]\n\n" : "");
}

/** A frame that is a part of the API's stream, rather than something done to its connection. */
export type ChunkFrame = Exclude<Frame, { raw: string } | { hang: true } | { reset: true }>;

export function toChunks(frame: ChunkFrame, index: number): Json[] {
  if ("error" in frame) return [{ error: frame.error }];
  if ("usage" in frame) {
    const { input, output } = frame.usage;
    return [
      {
        id: "r1",
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      },
    ];
  }
  const chunk = (delta: Json, finish: string | null = null): Json => ({
    id: "r1",
    model: "stub",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  if ("finish" in frame) return [chunk({}, frame.finish)];
  if ("text" in frame) return [chunk({ content: frame.text })];
  if ("reasoning" in frame) return [chunk({ reasoning_content: frame.reasoning })];
  const { id, name, args } = frame.call;
  const half = Math.ceil(args.length / 2);
  return [
    chunk({
      tool_calls: [
        { index, id, type: "function", function: { name, arguments: args.slice(0, half) } },
      ],
    }),
    chunk({ tool_calls: [{ index, function: { arguments: args.slice(half) } }] }),
  ];
}
